import type { Mutation } from "./mutate.ts";

const states = "packages/core/src/pod/pod-states.ts";
const sweep = "packages/core/src/pod/orphan-sweep.ts";
const queue = "packages/kube-client/src/work-queue.ts";
const statuses = "packages/core/src/pod/status-writer.ts";
const node = "packages/core/src/virtual-node.ts";

/** Bugs that upstream has or had. The simulation has to find each. */
export const mutations: Readonly<Record<string, Mutation>> = {
  "name-only key": {
    about: "a pod that is made again under its name is taken for the old one",
    edits: [
      {
        file: states,
        find: "const isNew = !this.#states.has(uid);",
        replace: `const known = [...this.#states.values()].find(({ ref: { namespace, name } }) => namespace === ref.namespace && name === ref.name);
    if (known) this.#states.set(uid, known);
    const isNew = !known;`,
      },
    ],
  },
  "comparing with what was last sent": {
    about: "a status that somebody else overwrote is not put right",
    edits: [
      {
        file: statuses,
        find: "return isNewer(written.pod, stored) ? written.pod : stored;",
        replace: "return { ...stored, status: written.pod.status };",
      },
      { file: statuses, find: "if (!body && pod === stored) this.#written.delete(uid);", replace: "" },
    ],
  },
  "throttled first adds": {
    about: "ten pods a second are begun, whether or not anything failed",
    edits: [
      {
        file: queue,
        find: "else this.#enqueue(entry);\n  }\n\n  /**\n   * Queues the key now, as if",
        replace: `else {
      const dueMs = Math.max(this.#clock.monotonic(), this.#nextAddMs);
      this.#nextAddMs = dueMs + 100;
      this.#delay(entry, dueMs);
    }
  }
  #nextAddMs = 0;

  /**
   * Queues the key now, as if`,
      },
    ],
  },
  "API delete before the provider's": {
    about: "a deleted pod is removed from the API server while it still runs",
    edits: [
      { file: statuses, find: "if (!isOver(state)) return false;", replace: "" },
      { file: statuses, find: "if (!isTerminalPhase(wanted?.phase ?? pod.status?.phase)) return false;", replace: "" },
    ],
  },
  "partial list taken as empty": {
    about: "what a list lacks is gone, whether or not the list is complete",
    edits: [
      {
        file: states,
        find: "if (list.complete) this.#onUnlisted(listed, startedMs);",
        replace: `for (const [uid, state] of this.#states) {
      if (!listed.has(uid) && !state.call && state.touchedMs <= startedMs) this.dispatch(uid, { kind: "reportedGone" });
    }`,
      },
    ],
  },
  "20 tries and forgotten": {
    about: "a pod whose work failed 20 times is given up",
    edits: [
      {
        file: queue,
        find: "    entry.failures++;\n    const nowMs",
        replace: "    entry.failures++;\n    if (entry.failures >= 20) return void (entry.failures = 0);\n    const nowMs",
      },
    ],
  },
  "back-off reset lost": {
    about: "a back end that has come back is left alone until each pod's wait is over",
    edits: [
      {
        file: queue,
        find: "const failed = [...this.#entries.values()].filter((entry) => entry.failures > 0);",
        replace: "const failed: Entry[] = [];",
      },
      {
        file: "packages/core/src/pod/pod-controller.ts",
        find: 'for (const { ref, verdict } of this.#states.values()) if (verdict?.kind === "waiting") this.#queue.add(ref.uid);',
        replace: "",
      },
    ],
  },
  "orphan deletion before inventory": {
    about: "what the back end holds is compared with pods that have not been listed yet, and deleted",
    edits: [
      { file: node, find: "await Promise.race([reflector.synced, reflecting]);", replace: "" },
      { file: sweep, find: "let delayMs = graceMsOf(options) + 1_000;", replace: "let delayMs = 0;" },
      { file: sweep, find: "return options.graceMs ?? 60_000;", replace: "return options.graceMs === undefined ? 0 : 0;" },
      { file: sweep, find: "if (await isPodGone(client, ref, signal)) confirmed.push(ref);", replace: "confirmed.push(ref);" },
    ],
  },
};
