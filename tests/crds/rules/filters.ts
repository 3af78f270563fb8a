/**
 * Rules about the filters of routes.
 *
 * @module
 */
import { backend, cases, type Json, requestRoutes, rule, type RuleCase } from "./case.ts";
import {
  auth,
  authTable,
  cors,
  extension,
  grpcAuth,
  headers,
  mirror,
  redirect,
  requestHeaders,
  responseHeaders,
  rewrite,
  unionCases,
} from "./filter_parts.ts";

/** The members of a union of filters: for each a filter that has it, and the type of another. */
const unions: readonly (readonly [kinds: readonly string[], type: string, field: string, settings: Json])[] =
  [
    [requestRoutes, "RequestHeaderModifier", "requestHeaderModifier", headers],
    [requestRoutes, "ResponseHeaderModifier", "responseHeaderModifier", headers],
    [requestRoutes, "RequestMirror", "requestMirror", { backendRef: backend }],
    [requestRoutes, "ExtensionRef", "extensionRef", extension],
    [["HTTPRoute"], "CORS", "cors", {}],
    [["HTTPRoute"], "RequestRedirect", "requestRedirect", {}],
    [["HTTPRoute"], "URLRewrite", "urlRewrite", {}],
    [["HTTPRoute"], "ExternalAuth", "externalAuth", grpcAuth],
  ];

const filters: RuleCase[] = [
  ...unions.flatMap(([kinds, type, field, settings]) =>
    unionCases(
      kinds,
      type,
      field,
      settings,
      "spec.rules[0].filters[0]",
      (filter) => rule({ filters: [filter] }),
      type === "RequestMirror" ? requestHeaders : mirror({}),
    )
  ),
  ...[
    [requestRoutes, requestHeaders],
    [requestRoutes, responseHeaders],
    [["HTTPRoute"], cors],
    [["HTTPRoute"], redirect()],
    [["HTTPRoute"], rewrite()],
  ].map(([kinds, filter]): RuleCase => ({
    kinds: kinds as string[],
    message: `${(filter as Json).type} filter cannot be repeated`,
    field: "spec.rules[0].filters",
    keeps: rule({ filters: [filter, mirror({}), mirror({})] }),
    breaks: rule({ filters: [filter, filter] }),
  })),
  {
    kinds: ["HTTPRoute"],
    message:
      "May specify either httpRouteFilterRequestRedirect or httpRouteFilterRequestRewrite, but not both",
    field: "spec.rules[0].backendRefs[0].filters",
    keeps: rule({ backendRefs: [{ ...backend, filters: [redirect()] }] }),
    breaks: rule({ backendRefs: [{ ...backend, filters: [redirect(), rewrite()] }] }),
  },
  ...cases(
    requestRoutes,
    "spec.rules[0].filters[0].requestMirror",
    (parts: Json) => rule({ filters: [mirror(parts)] }),
    [[
      "Only one of percent or fraction may be specified in HTTPRequestMirrorFilter",
      { percent: 0 },
      { percent: 50, fraction: { numerator: 1 } },
    ]],
  ),
  ...cases(
    requestRoutes,
    "spec.rules[0].filters[0].requestMirror.fraction",
    (fraction: Json) => rule({ filters: [mirror({ fraction })] }),
    [[
      "numerator must be less than or equal to denominator",
      { numerator: 100 },
      { numerator: 3, denominator: 2 },
    ]],
  ),
  ...cases(
    ["HTTPRoute"],
    "spec.rules[0].filters[0].requestRedirect.path",
    (path: Json) => rule({ filters: [redirect(path)] }),
    [
      [
        "replaceFullPath must be specified when type is set to 'ReplaceFullPath'",
        { type: "ReplaceFullPath", replaceFullPath: "" },
        { type: "ReplaceFullPath" },
      ],
      [
        "type must be 'ReplaceFullPath' when replaceFullPath is set",
        { type: "ReplacePrefixMatch", replacePrefixMatch: "/x" },
        { type: "ReplacePrefixMatch", replacePrefixMatch: "/x", replaceFullPath: "/" },
      ],
      [
        "replacePrefixMatch must be specified when type is set to 'ReplacePrefixMatch'",
        { type: "ReplacePrefixMatch", replacePrefixMatch: "" },
        { type: "ReplacePrefixMatch" },
      ],
      [
        "type must be 'ReplacePrefixMatch' when replacePrefixMatch is set",
        { type: "ReplaceFullPath", replaceFullPath: "/x" },
        { type: "ReplaceFullPath", replaceFullPath: "/x", replacePrefixMatch: "/" },
      ],
    ],
  ),
  ...([
    ["allowOrigins", "AllowOrigins cannot contain '*' alongside other origins", "https://example.com"],
    ["allowMethods", "AllowMethods cannot contain '*' alongside other methods", "GET"],
    ["allowHeaders", "AllowHeaders cannot contain '*' alongside other methods", "x-a"],
  ] as const).map(([field, message, value]): RuleCase => ({
    kinds: ["HTTPRoute"],
    message,
    field: `spec.rules[0].filters[0].cors.${field}`,
    keeps: rule({ filters: [{ type: "CORS", cors: { [field]: ["*"] } }] }),
    breaks: rule({ filters: [{ type: "CORS", cors: { [field]: ["*", value] } }] }),
  })),
];

const prefix: Json = { type: "ReplacePrefixMatch", replacePrefixMatch: "/x" };
const exact: Json = { path: { type: "Exact", value: "/" } };

const replacing: RuleCase[] = [
  ...cases(["HTTPRoute"], "spec.rules[0]", (parts: Json) => rule(parts), [
    [
      "RequestRedirect filter must not be used together with backendRefs",
      { filters: [redirect()] },
      { filters: [redirect()], backendRefs: [backend] },
    ],
    ...([["RequestRedirect", redirect(prefix)], ["URLRewrite", rewrite(prefix)]] as const).flatMap((
      [type, filter],
    ) => {
      const what =
        `using ${type} filter with path.replacePrefixMatch, exactly one PathPrefix match must be specified`;
      const within = `Within backendRefs, ${type === "URLRewrite" ? "When" : "when"} ${what}`;
      const backendRefs = [{ ...backend, filters: [filter] }];
      return [
        [`When ${what}`, { filters: [filter] }, { filters: [filter], matches: [exact] }],
        [within, { backendRefs }, { backendRefs, matches: [{}, {}] }],
      ] as const;
    }),
  ]),
];

/** Rules of ExternalAuth, in a filter of an HTTPRoute. */
const authorization: RuleCase[] = cases(
  ["HTTPRoute"],
  "spec.rules[0].filters[0].externalAuth",
  (parts: Json) => rule({ filters: [auth(parts)] }),
  authTable,
);

export const filterCases: readonly RuleCase[] = [...filters, ...authorization, ...replacing];
