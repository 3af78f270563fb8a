/**
 * One object that keeps each rule of Gateway API, and one that breaks it.
 *
 * @module
 */
import type { RuleCase } from "./case.ts";
import { filterCases } from "./filters.ts";
import { gatewayCases } from "./gateways.ts";
import { policyCases } from "./policies.ts";
import { routeCases } from "./routes.ts";

export { objectOf, type RuleCase } from "./case.ts";

export const ruleCases: readonly RuleCase[] = [
  ...routeCases,
  ...filterCases,
  ...gatewayCases,
  ...policyCases,
];
