/**
 * `gatehouse operator`: a replica of the operator of a cluster.
 *
 * @module
 */
import type { Command } from "commander";
import type { Io } from "./io.ts";
import {
  addresses,
  certificateLifetimeOption,
  contextOption,
  logFormatOption,
  logLevelOption,
  names,
  port,
} from "./options.ts";
import { openLog } from "./process_log.ts";
import { until } from "./until.ts";

interface Options {
  readonly namespace: string;
  readonly podName: string;
  readonly podIps: readonly [string, ...string[]];
  readonly service: string;
  readonly leaseName: string;
  readonly controllerName?: string;
  readonly watchNamespaces?: readonly string[];
  readonly classNames: readonly string[];
  readonly envoyImage: string;
  readonly clusterDomain: string;
  readonly certificateLifetime: number;
  readonly xdsPort: number;
  readonly reportPort: number;
  readonly httpPort: number;
  readonly kubeconfig?: string;
  readonly context?: string;
  readonly logLevel: "debug" | "info" | "warn" | "error";
  readonly logFormat: "auto" | "text" | "json";
}

/** The Envoy that is run where nobody asks for another. */
const envoyImage = "docker.io/envoyproxy/envoy:distroless-v1.40.0";

export function registerOperator(program: Command, io: Io): void {
  program.command("operator")
    .description("Run a replica of the operator of a cluster, with Envoys in pods; as the Deployment does")
    .requiredOption("--namespace <namespace>", "namespace of the operator")
    .requiredOption(
      "--pod-name <name>",
      "name of the pod that this runs in, unlike that of any other replica",
    )
    .requiredOption(
      "--pod-ips <addresses>",
      "IP addresses of the pod, separated by commas: others reach it at the first, and one of IPv6 has Envoys listen on IPv6 too",
      addresses,
    )
    .option("--service <name>", "the operator's Service, by which Envoys find it", "gatehouse")
    .option("--lease-name <name>", "the Lease that the replica has which writes", "gatehouse")
    .option("--controller-name <name>", "serve GatewayClasses with this controllerName instead of ours")
    .option("--watch-namespaces <names>", "serve these namespaces only, separated by commas", names)
    .option(
      "--class-names <names>",
      "with --watch-namespaces: the GatewayClasses that are ours where they may not be read",
      names,
      ["gatehouse"],
    )
    .option("--envoy-image <image>", "the Envoy to run where no EnvoyFleet says otherwise", envoyImage)
    .option("--cluster-domain <domain>", "the DNS domain of Services", "cluster.local")
    .addOption(certificateLifetimeOption())
    .option("--xds-port <port>", "port for Envoys", port, 18000)
    .option("--report-port <port>", "port for other replicas", port, 18001)
    .option("--http-port <port>", "port for /livez, /readyz and /metrics", port, 8081)
    .option("--kubeconfig <path>", "outside of a cluster; default: the pod's ServiceAccount")
    .addOption(contextOption())
    .addOption(logLevelOption()).addOption(logFormatOption())
    .addHelpText(
      "after",
      `
Several replicas serve Envoys; the one that has the Lease writes. SIGTERM lets it go at once, and serves until proxies are elsewhere.

Examples:
  gatehouse operator --namespace=$(POD_NAMESPACE) --pod-name=$(POD_NAME) --pod-ips=$(POD_IPS)
  gatehouse operator --namespace=team-a --pod-name=$(POD_NAME) --pod-ips=$(POD_IPS) --watch-namespaces=team-a`,
    )
    .action(async (options: Options) => {
      // From here on SIGTERM is heard: the first process of a container hears nothing that it does not listen for.
      const { signal, hurry } = io;
      const { systemClock: clock } = await import("../controllers/runtime/clock.ts");
      const { Fence } = await import("../kube/fence.ts");
      const { connect } = await import("./connect.ts");
      const { startClusterOperator } = await import("./cluster_operator.ts");
      const log = openLog(io, options), fence = new Fence();
      const component = `operator ${options.podName}`, from = { ...options, inCluster: true };
      const kube = await connect(io, from, { component, log });
      const writer = await connect(io, from, { component, log, permit: fence.permit });
      await using replica = await startClusterOperator({
        replica: {
          namespace: options.namespace,
          pod: options.podName,
          ips: options.podIps,
          service: options.service,
        },
        kube,
        writer,
        fence,
        config: {
          clusterDomain: options.clusterDomain,
          ...options.controllerName !== undefined && { controllerName: options.controllerName },
        },
        ...options.watchNamespaces && { namespaces: options.watchNamespaces },
        classes: options.classNames,
        image: options.envoyImage,
        lease: options.leaseName,
        authority: `${options.leaseName}-xds-authority`,
        certificateLifetime: options.certificateLifetime,
        ports: { xds: options.xdsPort, reports: options.reportPort, http: options.httpPort },
        clock,
        log,
        hurry,
        nonce: crypto.randomUUID(),
      });
      await until(AbortSignal.any([signal, replica.scope.signal]));
    });
}
