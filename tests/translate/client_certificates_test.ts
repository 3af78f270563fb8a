/**
 * Certificates of clients under traffic, by port and by default (GEP-91). What is expected comes from the specification and
 * the conformance suite.
 *
 * @module
 */
import { assertEquals, assertRejects } from "@std/assert";
import { createAuthority } from "../../controllers/runtime/pki.ts";
import { ask } from "../xds/support/http.ts";
import { askSecurely, type Secure } from "../xds/support/https.ts";
import { type Raw, route, stored, to } from "./cluster.ts";
import { ca, certificate, configMap, https, secured, tlsSecret, validity } from "./secured.ts";
import { freePort } from "../support/free_port.ts";

const validation = (name: string, more: Raw = {}) => ({
  validation: { caCertificateRefs: [{ ...ca(name), ...more.ref }], mode: more.mode },
});

const toApp = route("r", { parentRefs: [{ name: "gw" }], rules: [to("app")] });

async function people() {
  const [mine, theirs] = await Promise.all(
    ["mine", "theirs"].map((commonName) => createAuthority({ commonName, ...validity })),
  );
  const [friend, stranger, server] = await Promise.all([
    certificate(["friend"], {}, mine),
    certificate(["stranger"], {}, theirs),
    certificate(["www.example.com"]),
  ]);
  return { mine: mine!, theirs: theirs!, friend: friend!, stranger: stranger!, server: server! };
}

/** The status, or what stands for a connection that is refused. */
async function outcome(port: number, certificate: Secure["certificate"]): Promise<number | "refused"> {
  try {
    return (await askSecurely(port, "/", certificate ? { certificate } : {})).status;
  } catch {
    return "refused";
  }
}

Deno.test("client certificates: a valid one is demanded, by default and by port; HTTP has none", async () => {
  const { mine, theirs, friend, stranger, server } = await people();
  const [other, lax, open, plain] = [freePort(), freePort(), freePort(), freePort()];
  await using served = await secured([
    https("default", undefined, "cert"),
    { ...https("other", undefined, "cert"), port: other },
    { ...https("lax", undefined, "cert"), port: lax },
    { ...https("open", undefined, "cert"), port: open },
    { name: "http", protocol: "HTTP", port: plain },
  ], [
    tlsSecret("cert", server),
    configMap("mine", mine.certificate),
    configMap("theirs", theirs.certificate),
    toApp,
  ], {
    spec: {
      tls: {
        frontend: {
          default: validation("mine", { mode: "AllowValidOnly" }),
          perPort: [
            { port: other, tls: validation("theirs") },
            { port: lax, tls: validation("mine", { mode: "AllowInsecureFallback" }) },
            { port: open, tls: {} },
          ],
        },
      },
    },
  });
  const outcomes = async (port: number) => [
    await outcome(port, friend),
    await outcome(port, stranger),
    await outcome(port, undefined),
  ];
  assertEquals(await outcomes(served.port), [200, "refused", "refused"]);
  assertEquals(await outcomes(other), ["refused", 200, "refused"]);
  assertEquals(await outcomes(lax), [200, 200, 200]);
  assertEquals(await outcomes(open), [200, 200, 200]);
  assertEquals((await ask(plain, "/")).status, 200);
  for (const name of ["default", "other", "lax", "open", "http"]) {
    assertEquals(served.conditionsOf(name).Programmed, "True Programmed");
  }
  const status = served.statuses.get("Gateway/default/gw");
  const warning = status?.kind === "Gateway" &&
    status.conditions.find(({ type }) => type === "InsecureFrontendValidationMode");
  assertEquals(
    warning && [warning.status, warning.reason, warning.message.includes(String(lax))],
    ["True", "ConfigurationChanged", true],
  );
});

Deno.test("client certificates: authorities change under way", async () => {
  const { mine, theirs, friend, stranger, server } = await people();
  await using served = await secured([https("https", undefined, "cert")], [
    tlsSecret("cert", server),
    configMap("ca", mine.certificate),
    toApp,
  ], { spec: { tls: { frontend: { default: validation("ca") } } } });
  assertEquals([await outcome(served.port, friend), await outcome(served.port, stranger)], [200, "refused"]);
  const { responses } = served.rig.pushed;
  served.put(configMap("ca", theirs.certificate));
  await served.changed();
  assertEquals(served.rig.pushed.responses - responses, 1);
  assertEquals([await outcome(served.port, friend), await outcome(served.port, stranger)], ["refused", 200]);
  const status = served.statuses.get("Gateway/default/gw");
  const types = status?.kind === "Gateway" ? status.conditions.map(({ type }) => type) : [];
  assertEquals(
    types,
    ["Accepted", "Programmed", "ResolvedRefs"],
    "warnings are there only while they are true",
  );
});

Deno.test("client certificates: without valid authorities nobody gets in, and only HTTPS is concerned", async () => {
  const { mine, friend, server } = await people();
  const ports = [freePort(), freePort(), freePort(), freePort()] as const;
  const [kind, foreign, partly, plain] = ports;
  await using served = await secured([
    https("missing", undefined, "cert"),
    { ...https("kind", undefined, "cert"), port: kind },
    { ...https("foreign", undefined, "cert"), port: foreign },
    { ...https("partly", undefined, "cert"), port: partly },
    { name: "http", protocol: "HTTP", port: plain },
  ], [
    tlsSecret("cert", server),
    configMap("mine", mine.certificate),
    configMap("mine", mine.certificate, { namespace: "other" }),
    toApp,
  ], {
    spec: {
      tls: {
        frontend: {
          default: validation("does-not-exist"),
          perPort: [
            { port: kind, tls: validation("mine", { ref: { kind: "Secret" } }) },
            { port: foreign, tls: validation("mine", { ref: { namespace: "other" } }) },
            {
              port: partly,
              tls: {
                validation: {
                  caCertificateRefs: ["mine", "nope"].map((name) => ca(name)),
                },
              },
            },
          ],
        },
      },
    },
  });
  for (
    const [name, port, reason] of [
      ["missing", served.port, "InvalidCACertificateRef"],
      ["kind", kind, "InvalidCACertificateKind"],
      ["foreign", foreign, "RefNotPermitted"],
    ] as const
  ) {
    const { Accepted, ResolvedRefs, Programmed } = served.conditionsOf(name);
    assertEquals([name, Accepted, ResolvedRefs, Programmed], [
      name,
      "False NoValidCACertificate",
      `False ${reason}`,
      "False Invalid",
    ]);
    await assertRejects(() => askSecurely(port, "/", { certificate: friend }));
  }
  assertEquals((await ask(plain, "/")).status, 200);
  assertEquals(served.conditionsOf("http"), {
    Accepted: "True Accepted",
    Conflicted: "False NoConflicts",
    ResolvedRefs: "True ResolvedRefs",
    Programmed: "True Programmed",
  });
  assertEquals([await outcome(partly, friend), await outcome(partly, undefined)], [200, "refused"]);
  assertEquals(served.conditionsOf("partly").ResolvedRefs, "False InvalidCACertificateRef");
  assertEquals(served.conditionsOf("partly").Accepted, "True Accepted");

  served.put(stored({
    apiVersion: "gateway.networking.k8s.io/v1beta1",
    kind: "ReferenceGrant",
    metadata: { name: "grant", namespace: "other" },
    spec: {
      from: [{ group: "gateway.networking.k8s.io", kind: "Gateway", namespace: "default" }],
      to: [{ group: "", kind: "ConfigMap" }],
    },
  }));
  await served.changed();
  assertEquals([await outcome(foreign, friend), await outcome(foreign, undefined)], [200, "refused"]);
  assertEquals(served.conditionsOf("foreign").Accepted, "True Accepted");
});
