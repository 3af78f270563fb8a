/**
 * Label and field selectors.
 *
 * @module
 */
import type { ApiObject } from "../../crds/kind.ts";
import { badRequest } from "./status.ts";

export interface Selector {
  /** Whether everything matches. */
  readonly everything: boolean;
  matches(object: ApiObject): boolean;
  /** Fields that are asked for, to be checked against those that the kind offers. */
  readonly fields: readonly string[];
  /** The one name that can match, if there is just one. */
  readonly name: string | undefined;
}

type Labels = { readonly [name: string]: string };
type Test = (labels: Labels) => boolean;

/** @throws {ApiError} 400 if one of them cannot be read */
export function parseSelector(labels: string, fields: string): Selector {
  const tests = parseLabels(labels);
  const wanted = parseFields(fields);
  const name = wanted.find(({ path, equal }) => path === "metadata.name" && equal)?.value;
  return {
    everything: tests.length === 0 && wanted.length === 0,
    matches(object) {
      const { metadata } = object;
      return tests.every((test) => test(metadata.labels ?? {})) &&
        wanted.every(({ path, value, equal }) => (fieldOf(object, path) === value) === equal);
    },
    fields: wanted.map(({ path }) => path === "source.component" ? "source" : path),
    name,
  };
}

/** Fields of Events that are called otherwise in `events.k8s.io` or mean a part of what they name. */
const aliases: { readonly [path: string]: string } = {
  reportingController: "reportingComponent",
  source: "source.component",
};

/** The text of a field; absent ones are empty, as in Kubernetes. */
function fieldOf(object: unknown, path: string): string {
  let value = object;
  for (const part of path.split(".")) {
    value = typeof value === "object" && value !== null
      ? (value as Record<string, unknown>)[part]
      : undefined;
  }
  return value === undefined || value === null ? "" : String(value);
}

interface FieldTest {
  readonly path: string;
  readonly value: string;
  readonly equal: boolean;
}

function parseFields(text: string): readonly FieldTest[] {
  const tests: FieldTest[] = [];
  for (const term of text.split(/(?<!\\),/).filter((term) => term !== "")) {
    const match = /^(.+?)(!=|==|=)((?:[^\\,=]|\\.)*)$/.exec(term);
    if (!match) throw badRequest(`invalid selector: '${text}'; can't understand '${term}'`);
    const value = match[3]!.replace(/\\(.)/g, "$1");
    const path = match[1]!.replace(/^regarding\./, "involvedObject.");
    tests.push({ path: aliases[path] ?? path, value, equal: match[2] !== "!=" });
  }
  return tests;
}

const labelName = /^([a-z0-9]([-a-z0-9.]*[a-z0-9])?\/)?[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$/;
const labelValue = /^([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?$/;

/** `a=b, c!=d, e in (f, g), h notin (i), j, !k, l>1, m<2` */
function parseLabels(text: string): readonly Test[] {
  const tokens = text.match(/\s+|==|!=|[=!<>(),]|[^\s=!<>(),]+/g)?.filter((token) => token.trim() !== "") ??
    [];
  let position = 0;
  const fail = (what: string) => badRequest(`unable to parse requirement: ${what}`);
  const next = (): string | undefined => tokens[position++];
  const word = (): string => {
    const token = tokens[position];
    if (token === undefined || /^([=!<>(),]|==|!=)$/.test(token)) return "";
    position++;
    return token;
  };
  const name = (): string => {
    const found = word();
    if (!labelName.test(found)) {
      throw fail(`found '${found || (tokens[position] ?? "")}', expected: !, identifier, or 'end of string'`);
    }
    return found;
  };
  const value = (): string => {
    const found = word();
    if (!labelValue.test(found) || found.length > 63) {
      throw fail(`values[0]: Invalid value: ${JSON.stringify(found)}: not a valid label value`);
    }
    return found;
  };
  const requirement = (): Test => {
    if (tokens[position] === "!") {
      next();
      const key = name();
      return (labels) => !(key in labels);
    }
    const key = name();
    const operator = tokens[position];
    if (operator === undefined || operator === ",") return (labels) => key in labels;
    next();
    switch (operator) {
      case "=":
      case "==": {
        const wanted = value();
        return (labels) => labels[key] === wanted;
      }
      case "!=": {
        const unwanted = value();
        return (labels) => labels[key] !== unwanted;
      }
      case ">":
      case "<": {
        const bound = value();
        if (!/^\d+$/.test(bound)) throw fail(`for 'Gt', 'Lt' operators, the value must be an integer`);
        return (labels) => {
          const found = labels[key];
          if (found === undefined || !/^-?\d+$/.test(found)) return false;
          return operator === ">" ? BigInt(found) > BigInt(bound) : BigInt(found) < BigInt(bound);
        };
      }
      case "in":
      case "notin": {
        if (next() !== "(") throw fail(`found '${tokens[position - 1] ?? ""}', expected: '('`);
        const values = new Set([value()]);
        let token = next();
        for (; token === ","; token = next()) values.add(value());
        if (token !== ")") throw fail(`found '${token ?? ""}', expected: ',' or ')'`);
        return operator === "in"
          ? (labels) => key in labels && values.has(labels[key]!)
          : (labels) => !(key in labels && values.has(labels[key]!));
      }
      default:
        throw fail(`found '${operator}', expected: in, notin, =, ==, !=, gt, lt`);
    }
  };
  const tests: Test[] = [];
  if (tokens.length === 0) return tests;
  do tests.push(requirement()); while (next() === ",");
  if (position <= tokens.length) {
    throw fail(`found '${tokens[position - 1]}', expected: ',' or 'end of string'`);
  }
  return tests;
}
