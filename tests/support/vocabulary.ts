/**
 * The conditions that statuses can have, with their reasons: all that Gateway API names and Gatehouse can come to, and
 * what Gatehouse adds.
 *
 * `tests/golden/conditions_test.ts` holds it against the constants of Gateway API's Go module and against the goldens, and
 * `tests/translate/properties_test.ts` against what comes of random clusters.
 *
 * @module
 */

/** Where a condition can stand. */
export type Place = keyof typeof vocabulary;

type Reasons = { readonly [status in "True" | "False" | "Unknown"]?: readonly string[] };

const listener = {
  Accepted: {
    True: ["Accepted"],
    False: [
      "HostnameConflict",
      "NoValidCACertificate",
      "PortUnavailable",
      "ProtocolConflict",
      "UnsupportedProtocol",
      "UnsupportedValue",
    ],
  },
  Conflicted: { True: ["HostnameConflict", "ProtocolConflict"], False: ["NoConflicts"] },
  ResolvedRefs: {
    True: ["ResolvedRefs"],
    False: [
      "InvalidCACertificateKind",
      "InvalidCACertificateRef",
      "InvalidCertificateRef",
      "InvalidRouteKinds",
      "RefNotPermitted",
    ],
  },
  Programmed: { True: ["Programmed"], False: ["HostnameConflict", "Invalid", "Pending", "ProtocolConflict"] },
  OverlappingTLSConfig: { True: ["OverlappingCertificates", "OverlappingHostnames"] },
} as const;

/** The reasons by place, type and status. */
export const vocabulary = {
  GatewayClass: {
    Accepted: { True: ["Accepted"], False: ["InvalidParameters"] },
    SupportedVersion: { True: ["SupportedVersion"], False: ["UnsupportedVersion"], Unknown: ["Pending"] },
  },
  Gateway: {
    Accepted: {
      True: ["Accepted", "ListenersNotValid"],
      False: ["InvalidParameters", "ListenersNotValid", "UnsupportedAddress"],
    },
    Programmed: {
      True: ["Programmed"],
      False: ["AddressNotAssigned", "AddressNotUsable", "Invalid", "NoResources", "Pending"],
    },
    ResolvedRefs: {
      True: ["ResolvedRefs"],
      False: ["InvalidClientCertificateRef", "ListenersNotResolved", "RefNotPermitted"],
    },
    AddressesAssigned: { True: ["AddressesAssigned"], False: ["NotAssigned", "PartiallyAssigned"] },
    InsecureFrontendValidationMode: { True: ["ConfigurationChanged"] },
  },
  EnvoyFleet: {
    Accepted: { True: ["Accepted"], False: ["Invalid"] },
    Programmed: { True: ["Programmed"], False: ["Invalid", "Pending"], Unknown: ["Pending"] },
  },
  "Gateway listener": listener,
  ListenerSet: {
    Accepted: {
      True: ["Accepted", "ListenersNotValid"],
      False: ["ListenersNotValid", "NotAllowed", "ParentNotAccepted"],
    },
    Programmed: {
      True: ["Programmed"],
      False: ["Invalid", "ListenersNotValid", "NotAllowed", "ParentNotProgrammed", "Pending"],
    },
  },
  "ListenerSet listener": {
    ...listener,
    Accepted: {
      True: listener.Accepted.True,
      False: [...listener.Accepted.False, "ListenerConflict", "TooManyListeners"],
    },
    Conflicted: { True: [...listener.Conflicted.True, "ListenerConflict"], False: listener.Conflicted.False },
    Programmed: { True: ["Programmed"], False: [...listener.Programmed.False, "ListenerConflict"] },
  },
  Route: {
    Accepted: {
      True: ["Accepted"],
      False: [
        "IncompatibleFilters",
        "NoMatchingListenerHostname",
        "NoMatchingParent",
        "NotAllowedByListeners",
        "UnsupportedValue",
      ],
    },
    ResolvedRefs: {
      True: ["ResolvedRefs"],
      False: ["BackendNotFound", "InvalidKind", "RefNotPermitted", "UnsupportedProtocol"],
    },
    Programmed: { True: ["Programmed"], False: ["Invalid", "Pending"] },
    PartiallyInvalid: { True: ["UnsupportedValue"] },
  },
  BackendTLSPolicy: {
    Accepted: {
      True: ["Accepted"],
      False: ["Conflicted", "Invalid", "NoValidCACertificate", "TargetNotFound"],
    },
    ResolvedRefs: { True: ["ResolvedRefs"], False: ["InvalidCACertificateRef", "InvalidKind"] },
    Programmed: { True: ["Programmed"], False: ["Invalid", "Pending"] },
  },
} as const;

/** The types that are there only while they have something to say. */
const sometimes = new Set([
  "AddressesAssigned",
  "InsecureFrontendValidationMode",
  "OverlappingTLSConfig",
  "PartiallyInvalid",
]);

interface Condition {
  readonly type: string;
  readonly status: string;
  readonly reason: string;
}

/** One condition in short: `Gateway Accepted True Accepted`. */
export function short(place: Place, { type, status, reason }: Condition): string {
  return `${place} ${type} ${status} ${reason}`;
}

/** Every condition in short. */
export const words: ReadonlySet<string> = new Set(
  Object.entries(vocabulary).flatMap(([place, types]) =>
    Object.entries<Reasons>(types).flatMap(([type, reasons]) =>
      Object.entries(reasons).flatMap(([status, all]) =>
        all.map((reason) => short(place as Place, { type, status, reason }))
      )
    )
  ),
);

/** The names of all types and reasons at one place. */
export function namesAt(place: Place): ReadonlySet<string> {
  const types: { readonly [type: string]: Reasons } = vocabulary[place];
  return new Set(
    Object.entries(types).flatMap(([type, reasons]) => [type, ...Object.values(reasons).flat()]),
  );
}

/** What is wrong with the conditions at one place: those that nobody knows, and those that lack. */
export function oddities(place: Place, conditions: readonly Condition[]): readonly string[] {
  const types = conditions.map(({ type }) => type);
  return [
    ...conditions.map((condition) => short(place, condition)).filter((word) => !words.has(word)),
    ...Object.keys(vocabulary[place]).filter((type) => !sometimes.has(type) && !types.includes(type))
      .map((type) => `${place} lacks ${type}`),
    ...types.filter((type, i) => types.indexOf(type) !== i).map((type) => `${place} has ${type} twice`),
  ];
}

/** The conditions in a status, observed or desired, each list with its place. Routes' and policies' are those of all controllers. */
export function* placed(
  kind: string,
  status: {
    readonly conditions?: readonly Condition[];
    readonly listeners?: readonly { readonly conditions: readonly Condition[] }[];
    readonly parents?: readonly {
      readonly conditions: readonly Condition[];
      readonly controllerName?: string;
    }[];
    readonly ancestors?: readonly {
      readonly conditions: readonly Condition[];
      readonly controllerName?: string;
    }[];
  },
): Generator<
  { readonly place: Place; readonly conditions: readonly Condition[]; readonly controllerName?: string }
> {
  if (status.conditions) yield { place: kind as Place, conditions: status.conditions };
  for (const one of status.listeners ?? []) {
    yield { place: kind === "Gateway" ? "Gateway listener" : "ListenerSet listener", ...one };
  }
  for (const one of status.parents ?? []) yield { place: "Route", ...one };
  for (const one of status.ancestors ?? []) yield { place: "BackendTLSPolicy", ...one };
}
