/**
 * When a proxy that has just connected has said what it has.
 *
 * Before that, what it lacks cannot be told from what it has not mentioned yet. It has arrived once it has answered for each
 * resource at a moment at which its answer was about the current version.
 *
 * @module
 */
import type { ResourceId } from "../../controllers/ir/mod.ts";

export class Arrival {
  readonly #rest: Iterator<ResourceId>;
  /** The resource whose answer is waited for. All before it have been answered for. */
  #next: ResourceId | undefined;

  /** `ids` tells the resources that there are, with those that come meanwhile. */
  constructor(ids: Iterator<ResourceId>) {
    this.#rest = ids;
  }

  /** Whether it has arrived. In all, this looks at each resource once. */
  advance(answered: (id: ResourceId) => boolean): boolean {
    while (this.#next === undefined || answered(this.#next)) {
      const { done, value } = this.#rest.next();
      if (done) return true;
      this.#next = value;
    }
    return false;
  }
}
