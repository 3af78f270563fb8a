/**
 * Who is to blame for what the proxies of a Gateway refuse.
 *
 * The suspects of a refusal are the pieces that the resource carries and that the proxy has not accepted yet. A single one is
 * the culprit; several are told apart by a {@linkcode Search}.
 *
 * @module
 */
import { createHash } from "node:crypto";
import type { Origin, Piece, Rejection, ResourceId } from "../../controllers/ir/mod.ts";
import { equal } from "../../controllers/runtime/equal.ts";
import type { Key } from "../../controllers/runtime/graph.ts";
import { named } from "./clues.ts";
import type { RejectionNews } from "./news.ts";
import type { Progress } from "./progress.ts";
import type { ProxyState } from "./proxy.ts";
import { type Charge, Search } from "./search.ts";

/** What becomes of a piece. */
export type Standing =
  | { readonly state: "given" }
  | { readonly state: "held" }
  | { readonly state: "rejected" } & Charge;

/** A proxy that refuses the current version of a resource. */
interface Refuser {
  readonly proxy: ProxyState;
  readonly charge: Charge;
}

interface PieceState {
  readonly piece: Piece;
  readonly origin: Origin;
  /** The settle at which proxies are first given it as it is now. */
  since: number;
  standing: Standing;
}

export interface CulpritsOptions {
  readonly progress: Progress;
  /** Keeps a piece from the proxies, or no longer. It has an effect at the next settle. */
  readonly reject: (piece: Key, rejection: Rejection | undefined) => void;
  /** Told whenever the standing of a piece of `origin` changes with the next settle. */
  readonly changed: (origin: Origin) => void;
  /** What the proxies run that are connected to other replicas. */
  readonly others: () => readonly string[];
  /** Told whenever what is rejected changes. */
  readonly news: () => void;
}

/** What proxies say against some pieces, each thing once, and whether some are held back to find that out. */
export interface Charges {
  readonly complaints: readonly string[];
  readonly held: boolean;
}

const none: Charges = { complaints: [], held: false };

export class Culprits {
  readonly #options: CulpritsOptions;
  readonly #pieces = new Map<Key, PieceState>();
  readonly #piecesOf = new Map<ResourceId, Set<PieceState>>();
  readonly #searches = new Map<ResourceId, Search>();
  /** The pieces that are held back or rejected: mostly none. */
  readonly #withheld = new Set<PieceState>();
  /** What other replicas have found out, by piece. */
  readonly #facts = new Map<Key, RejectionNews[]>();
  /** Whether what was decided has not had an effect yet. */
  #unsettled = false;
  #seq = 0;

  constructor(options: CulpritsOptions) {
    this.#options = options;
  }

  /** Takes in that settle `seq` is through: whatever was decided before has had its effect. */
  settled(seq: number): void {
    this.#seq = seq;
    this.#unsettled = false;
  }

  /** Replaces the pieces of an origin, as of settle `seq`. One that changed is tried anew. */
  replace(origin: Origin, before: readonly Piece[], after: readonly Piece[], seq: number): void {
    const kept = new Map(after.map((piece) => [piece.id, piece]));
    for (const { id } of before) {
      const state = this.#pieces.get(id), piece = kept.get(id);
      if (!state || piece && equal(state.piece.content, piece.content)) continue;
      for (const search of this.#searches.values()) search.forget(id);
      if (state.standing.state !== "given") this.#options.reject(id, undefined);
      this.#drop(state);
    }
    for (const piece of after) {
      const old = this.#pieces.get(piece.id);
      if (old) this.#drop(old);
      const state: PieceState = {
        piece,
        origin,
        since: old?.since ?? seq,
        standing: old?.standing ?? { state: "given" },
      };
      this.#pieces.set(piece.id, state);
      if (state.standing.state !== "given") this.#withheld.add(state);
      if (state.standing.state !== "rejected") this.#believe(state);
      for (const id of piece.resources) {
        const pieces = this.#piecesOf.get(id);
        if (pieces) pieces.add(state);
        else this.#piecesOf.set(id, new Set([state]));
      }
    }
  }

  chargesAgainst(pieces: readonly Piece[]): Charges {
    if (this.#withheld.size === 0) return none;
    const standings = pieces.flatMap(({ id }) => this.#pieces.get(id)?.standing ?? []);
    const complaints = standings.flatMap((standing) =>
      standing.state === "rejected" ? [standing.complaint] : []
    );
    return {
      complaints: [...new Set(complaints)],
      held: standings.some(({ state }) => state === "held"),
    };
  }

  /** Takes over what other replicas have found out: all of it. It holds for equal contents where proxies run that software. */
  learn(facts: readonly RejectionNews[]): void {
    this.#facts.clear();
    for (const fact of facts) {
      const all = this.#facts.get(fact.piece);
      if (all) all.push(fact);
      else this.#facts.set(fact.piece, [fact]);
    }
    for (const piece of this.#facts.keys()) {
      const state = this.#pieces.get(piece);
      if (state && state.standing.state !== "rejected") this.#believe(state);
    }
  }

  #believe(state: PieceState): void {
    const facts = this.#facts.get(state.piece.id);
    if (!facts) return;
    const hash = contentHash(state.piece.content), present = this.#present();
    const fact = facts.find((fact) => fact.hash === hash && present.has(fact.software));
    if (fact) this.#set(state, { state: "rejected", complaint: fact.message, software: fact.software });
  }

  /** What is rejected, for other replicas. */
  rejections(): readonly RejectionNews[] {
    return [...this.#withheld].flatMap(({ piece, standing }) =>
      standing.state === "rejected"
        ? [{
          piece: piece.id,
          hash: contentHash(piece.content),
          software: standing.software,
          message: standing.complaint,
        }]
        : []
    );
  }

  /** Whether an answer about this resource is waited for. */
  concerns(id: ResourceId): boolean {
    return this.#searches.has(id);
  }

  /** A proxy refuses the current version of a resource. */
  refused(id: ResourceId, proxy: ProxyState): void {
    if (!this.#searches.has(id)) this.#searches.set(id, new Search(proxy.id));
  }

  /** Tries again what no proxy refuses any more, since those that did have been replaced by another version. */
  reconsider(): void {
    if (this.#withheld.size === 0) return;
    const present = this.#present();
    if (present.size === 0) return;
    for (const state of this.#withheld) {
      const { standing } = state;
      if (standing.state === "rejected" && !present.has(standing.software)) {
        this.#set(state, { state: "given" });
      }
    }
  }

  /** What connected proxies run, wherever they are connected. */
  #present(): ReadonlySet<string> {
    const present = new Set(this.#options.others());
    for (const { software } of this.#options.progress.connected()) present.add(software);
    return present;
  }

  /** Takes every step that the answers of the proxies allow. */
  advance(): void {
    for (const [id, search] of this.#searches) {
      if (this.#unsettled) return; // The answers are about what was given before.
      const refuser = this.#refuser(id);
      if (refuser) {
        this.#suspect(id, search, refuser);
      } else if (this.#isAccepted(id, search)) {
        search.accepted();
        this.#step(id, search);
      }
    }
  }

  #refuser(id: ResourceId): Refuser | undefined {
    const current = this.#options.progress.current(id);
    if (current === undefined) return undefined;
    for (const proxy of this.#options.progress.connected()) {
      const refusal = proxy.refused.get(id);
      if (refusal?.version === current) {
        return { proxy, charge: { complaint: refusal.message, software: proxy.software } };
      }
    }
    return undefined;
  }

  /** Whether the proxy that refused takes the resource now; if it is away, whether any does. */
  #isAccepted(id: ResourceId, { witness }: Search): boolean {
    const { progress } = this.#options;
    const current = progress.current(id);
    if (current === undefined) return true;
    let accepted = false;
    for (const proxy of progress.connected()) {
      const has = proxy.acked?.get(id) === current;
      if (proxy.id === witness) return has;
      accepted ||= has;
    }
    return accepted;
  }

  #suspect(id: ResourceId, search: Search, { proxy, charge }: Refuser): void {
    const suspects = this.#suspects(id, proxy);
    if (suspects.length === 0) return; // Nothing that could be kept from it; a later version may be better.
    const ids = (states: readonly PieceState[]) => states.map(({ piece }) => piece.id);
    const likely = named(suspects.map((state) => ({ state, content: state.piece.content })), charge.complaint)
      .map(({ state }) => state);
    if (suspects.length === 1) {
      search.refused(ids(suspects), charge);
      this.#set(suspects[0]!, { state: "rejected", ...charge }, search);
    } else if (likely.length > 0 && likely.length < suspects.length) {
      const others = suspects.filter((suspect) => !likely.includes(suspect));
      search.suspected(ids(likely), ids(others), charge);
      for (const suspect of likely) this.#set(suspect, { state: "held" }, search);
    } else {
      search.refused(ids(suspects), charge);
      for (const suspect of suspects) this.#set(suspect, { state: "held" }, search);
    }
  }

  #suspects(id: ResourceId, proxy: ProxyState): readonly PieceState[] {
    const given = [...this.#piecesOf.get(id) ?? []].filter(({ standing }) => standing.state === "given");
    // A listener's piece names its routes, too, but it is the routes' own pieces that can spoil those.
    const own = id.startsWith("routes:")
      ? given.filter(({ piece }) => !piece.resources.some((other) => other.startsWith("listener:")))
      : given;
    const candidates = own.length > 0 ? own : given;
    const covered = this.#options.progress.covers(proxy, id);
    const fresh = candidates.filter(({ since }) => since > covered);
    return fresh.length > 0 ? fresh : candidates;
  }

  #step(id: ResourceId, search: Search): void {
    for (let step = search.next();; step = search.next()) {
      if (step.type === "done") {
        this.#searches.delete(id);
        return;
      }
      if (step.type === "release") {
        for (const piece of step.pieces) this.#setById(piece, { state: "given" }, search);
        return;
      }
      this.#setById(step.piece, { state: "rejected", ...step.charge }, search);
    }
  }

  #setById(piece: Key, standing: Standing, by: Search): void {
    const state = this.#pieces.get(piece);
    if (state) this.#set(state, standing, by);
  }

  #set(state: PieceState, standing: Standing, by?: Search): void {
    const { id, content } = state.piece;
    for (const search of this.#searches.values()) if (search !== by) search.forget(id);
    if (standing.state === "rejected" || state.standing.state === "rejected") this.#options.news();
    state.standing = standing;
    if (standing.state === "given") this.#withheld.delete(state);
    else this.#withheld.add(state);
    state.since = this.#seq + 1;
    this.#unsettled = true;
    this.#options.reject(
      id,
      standing.state === "given"
        ? undefined
        : { content, ...(standing.state === "rejected" ? { message: standing.complaint } : {}) },
    );
    this.#options.changed(state.origin);
  }

  #drop(state: PieceState): void {
    this.#pieces.delete(state.piece.id);
    if (this.#withheld.delete(state) && state.standing.state === "rejected") this.#options.news();
    for (const id of state.piece.resources) {
      const pieces = this.#piecesOf.get(id);
      pieces?.delete(state);
      if (pieces?.size === 0) this.#piecesOf.delete(id);
    }
  }
}

/** Equal for equal contents, whatever the order of their fields. */
function contentHash(content: unknown): string {
  return createHash("sha256").update(canonical(content)).digest("base64url").slice(0, 22);
}

function canonical(value: unknown): string {
  if (value instanceof Map) return canonical(Object.fromEntries(value));
  if (value instanceof Set) return canonical([...value]);
  if (Array.isArray(value)) return `[${value.map(canonical).join()}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value) ?? "null";
  const fields = Object.entries(value).filter(([, field]) => field !== undefined);
  return `{${
    fields.sort(([a], [b]) => a < b ? -1 : 1).map(([name, field]) =>
      `${JSON.stringify(name)}:${canonical(field)}`
    )
      .join()
  }}`;
}
