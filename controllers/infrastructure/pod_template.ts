/**
 * The pods that Envoys run in: as little as they need, and no privileges (Pod Security, "restricted").
 *
 * Listeners' ports are the container's own, which an unprivileged process may bind by a sysctl that counts as safe. They are
 * not listed, since a listed port is a part of the template: a listener more would replace every pod.
 *
 * @module
 */
import { annotations, paths, tokenAudience, tokenSeconds } from "./names.ts";
import { annotationsOf, labelsOf, type Plan } from "./plan.ts";

/** What the template does not take from the plan. */
export interface PodParts {
  /** The image of Envoy where the EnvoyFleet names none. */
  readonly image: string;
  readonly args: readonly string[];
  /** Hash of the files that the proxy reads once, when it starts. */
  readonly config: string;
}

/** Seconds beyond those for draining in which a pod has to end. */
const grace = 10;

/** `spec.template` of the workload. */
export function podTemplate(plan: Plan, { image, args, config }: PodParts) {
  const { fleet: { pod, drain }, own } = plan;
  const { runAsUser, runAsGroup, fsGroup } = pod.securityContext;
  return {
    metadata: {
      labels: labelsOf(plan, pod.labels),
      annotations: { ...annotationsOf(plan, pod.annotations), [annotations.config]: config },
    },
    spec: {
      serviceAccountName: plan.child,
      automountServiceAccountToken: false,
      enableServiceLinks: false,
      terminationGracePeriodSeconds: drain.seconds + grace,
      securityContext: {
        runAsNonRoot: true,
        ...runAsUser !== undefined && { runAsUser },
        ...runAsGroup !== undefined && { runAsGroup },
        ...fsGroup !== undefined && { fsGroup },
        seccompProfile: { type: "RuntimeDefault" },
        sysctls: [{ name: "net.ipv4.ip_unprivileged_port_start", value: "0" }],
      },
      containers: [{
        name: "envoy",
        image: pod.image ?? image,
        ...pod.imagePullPolicy && { imagePullPolicy: pod.imagePullPolicy },
        args,
        env: [
          { name: "POD_NAME", valueFrom: { fieldRef: { apiVersion: "v1", fieldPath: "metadata.name" } } },
          {
            name: "POD_NAMESPACE",
            valueFrom: { fieldRef: { apiVersion: "v1", fieldPath: "metadata.namespace" } },
          },
        ],
        ports: [
          { name: "readiness", containerPort: own.readiness, protocol: "TCP" },
          { name: "metrics", containerPort: own.metrics, protocol: "TCP" },
        ],
        resources: pod.resources,
        securityContext: {
          allowPrivilegeEscalation: false,
          capabilities: { drop: ["ALL"] },
          readOnlyRootFilesystem: true,
          runAsNonRoot: true,
        },
        readinessProbe: {
          httpGet: { path: "/ready", port: "readiness", scheme: "HTTP" },
          periodSeconds: 5,
          timeoutSeconds: 2,
          failureThreshold: 2,
        },
        // Whether it answers at all: one that waits for its configuration, or drains, is not to be killed for it.
        livenessProbe: {
          tcpSocket: { port: "readiness" },
          initialDelaySeconds: 10,
          periodSeconds: 10,
          timeoutSeconds: 5,
          failureThreshold: 6,
        },
        // The operator sees that the pod is to end, and has this long to move connections elsewhere.
        ...drain.seconds > 0 && { lifecycle: { preStop: { sleep: { seconds: drain.seconds } } } },
        terminationMessagePolicy: "FallbackToLogsOnError",
        volumeMounts: [
          { name: "config", mountPath: paths.config, readOnly: true },
          { name: "token", mountPath: paths.token, readOnly: true },
          { name: "run", mountPath: paths.run },
        ],
      }],
      volumes: [
        { name: "config", configMap: { name: plan.child } },
        {
          name: "token",
          projected: {
            sources: [{
              serviceAccountToken: {
                audience: tokenAudience,
                expirationSeconds: tokenSeconds,
                path: "token",
              },
            }],
          },
        },
        { name: "run", emptyDir: {} },
      ],
      ...placementOf(plan),
    },
  };
}

function placementOf({ fleet: { pod, workload }, selector }: Plan) {
  const { imagePullSecrets, nodeSelector, tolerations, affinity, priorityClassName } = pod;
  const own = {
    labelSelector: { matchLabels: selector },
    // The pods of a roll's beginning are about to go: those that come are spread among themselves.
    ...workload.kind === "Deployment" && { matchLabelKeys: ["pod-template-hash"] },
  };
  const spread = pod.topologySpreadConstraints.map((constraint) =>
    constraint.labelSelector ? constraint : { ...own, ...constraint }
  );
  return {
    ...imagePullSecrets.length > 0 && { imagePullSecrets },
    ...Object.keys(nodeSelector).length > 0 && { nodeSelector },
    ...tolerations.length > 0 && { tolerations },
    ...affinity && { affinity },
    ...priorityClassName && { priorityClassName },
    ...spread.length > 0 && { topologySpreadConstraints: spread },
  };
}
