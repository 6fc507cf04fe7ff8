import { equalJson } from "../json/json-value.ts";
import type { ApiObject } from "../kinds/kind.ts";
import type { MutatingRun } from "./admission-plugin.ts";

/**
 * What a plugin of webhooks or policies remembers between both runs: which of them are to be invoked in the second.
 *
 * Source: k8s.io/apiserver v0.36.3 pkg/admission/plugin/webhook/mutating/reinvocationcontext.go and policy/mutating/reinvocationcontext.go.
 */
export class ReinvocationMemory {
  /** Those with `reinvocationPolicy: IfNeeded` that were invoked after the last change. */
  #invoked = new Set<string>();
  readonly #again = new Set<string>();
  /** The object after the plugin's last run. */
  #output: Readonly<ApiObject> | undefined;

  /** Memory of a plugin for the current request. Notices whether others have changed the object since its last run. */
  static of({ memory, isRepeated }: MutatingRun, plugin: string, object: Readonly<ApiObject> | undefined): ReinvocationMemory {
    let known = memory.get(plugin) as ReinvocationMemory | undefined;
    if (known === undefined) memory.set(plugin, (known = new ReinvocationMemory()));
    if (isRepeated && !equalJson(known.#output, object)) known.changed();
    return known;
  }

  /** Whether the webhook or policy is to be invoked in this run. @param id - unique among those of the plugin */
  isDue({ isRepeated }: MutatingRun, id: string): boolean {
    return !isRepeated || this.#again.has(id);
  }

  /** The object has changed: those that were invoked before are to be invoked again. */
  changed(): void {
    for (const id of this.#invoked) this.#again.add(id);
    this.#invoked = new Set();
  }

  /** A webhook or policy with `reinvocationPolicy: IfNeeded` was invoked. */
  invoked(id: string): void {
    this.#invoked.add(id);
  }

  /** The plugin's run has ended. */
  end(object: Readonly<ApiObject> | undefined): void {
    this.#output = structuredClone(object);
  }
}
