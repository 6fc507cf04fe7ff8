import type { Mutation } from "./mutate.ts";

const states = "packages/core/src/pod/state/pod-registry.ts";
const sweep = "packages/core/src/pod/orphans/orphan-sweep.ts";
const queue = "packages/kube-client/src/work-queue/work-queue.ts";
const statuses = "packages/core/src/pod/status/status-writer.ts";
const node = "packages/core/src/virtual-node/virtual-node.ts";
const brake = "packages/core/src/pod/orphans/mass-loss-brake.ts";
const controller = "packages/core/src/pod/pod-controller.ts";
const client = "packages/kube-client/src/rest/rest-client.ts";
const lease = "packages/core/src/node/lease-controller.ts";
const plan = "packages/core/src/pod/state/next-action.ts";
const state = "packages/core/src/pod/state/pod-state.ts";
const step = "packages/core/src/pod/state/pod-step.ts";
const calls = "packages/core/src/pod/actions/tracked-calls.ts";
const worker = "packages/core/src/pod/actions/pod-action-runner.ts";
const questions = "packages/core/src/pod/actions/pod-questions.ts";

/** Bugs that upstream has or had, and bugs that this program had. The simulation has to find each. */
export const mutations: Readonly<Record<string, Mutation>> = {
  "name-only key": {
    about: "a pod that is made again under its name is taken for the old one",
    seed: 13,
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
    seed: 1,
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
    seed: 33,
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
    seed: 5,
    edits: [
      {
        file: states,
        find: "if (list.complete) await this.#onUnlisted(listed, startedMs, signal);",
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
    seed: 4,
    edits: [
      {
        file: queue,
        find: "const failed = [...this.#entries.values()].filter((entry) => entry.failures > 0);",
        replace: "const failed: Entry[] = [];",
      },
      {
        file: controller,
        find: 'if (retryAfter || verdict?.kind === "waiting" ||',
        replace: "if (",
      },
    ],
  },
  "orphan deletion before inventory": {
    about: "what the back end holds is compared with pods that have not been listed yet, and deleted",
    seed: 8,
    edits: [
      { file: node, find: "await Promise.race([watch.synced, reflecting]);", replace: "" },
      { file: sweep, find: "let delayMs = graceMsOf(options) + 1_000;", replace: "let delayMs = 0;" },
      { file: sweep, find: "return options.graceMs ?? 60_000;", replace: "return options.graceMs === undefined ? 0 : 0;" },
      { file: sweep, find: "if (await isPodGone(client, ref, signal)) orphans.push(ref);", replace: "orphans.push(ref);" },
    ],
  },
  "a list taken for the truth": {
    about: "a pod that a list lacks is ended without the API server being asked for it",
    seed: 25,
    edits: [
      {
        file: questions,
        find: "if (!(await isPodGone(client, ref, signal))) return { requeueAfterMs: confirmAgainMs };",
        replace: "",
      },
    ],
  },
  "no brake": {
    about: "pods are ended however many of them are missing at once",
    seed: 5,
    edits: [{ file: brake, find: "if (count <= limit) {", replace: "if (count <= Infinity) {" }],
  },
  "a brake that lets more through": {
    about: "twice as many pods as the limit says may be ended at once",
    seed: 5,
    edits: [{ file: brake, find: "if (count <= limit) {", replace: "if (count <= limit * 2) {" }],
  },
  "a brake that sees old orphans alone": {
    about: "orphans that are not suspected for long enough do not count, and a part of an inventory is taken for all of it",
    seed: 66,
    edits: [
      { file: sweep, find: "Math.max(orphans.length, this.#suspects.size)", replace: "orphans.length" },
      { file: sweep, find: "if (this.#inventorySize === undefined) return this.#tellIncomplete();", replace: "" },
    ],
  },
  "an end that others wrote": {
    about: "a pod that somebody else made Failed or Succeeded runs on at the provider",
    seed: 3,
    edits: [
      {
        file: step,
        find: "teardown: state.teardown ?? (isTerminalPhase(pod.status?.phase) ? teardownOf(pod, time.nowMs) : undefined),",
        replace: "teardown: state.teardown,",
      },
    ],
  },
  "an end from before the deletion": {
    about: "a deletion is over because of a report from before it",
    seed: 350,
    edits: [
      {
        file: step,
        find: 'if (!mayRestart(pod, reported)) return learn(state, { kind: "gone" }, nowMs);',
        replace: 'return learn(state, { kind: "gone" }, nowMs);',
      },
    ],
  },
  "an end between two runs": {
    about: "a container that waits for its next run counts as ended for good",
    seed: 37,
    edits: [
      {
        file: state,
        find: "if (isTerminalPhase(status.phase) || pod?.spec === undefined) return false;",
        replace: "if (pod?.spec !== undefined) return false;",
      },
    ],
  },
  "an end shown too early": {
    about: "a deleted pod is shown as ended while one of its containers is between two runs",
    seed: 37,
    edits: [{ file: "packages/core/src/pod/status/wanted-status.ts", find: "reported, isOver: over, ", replace: "reported, " }],
  },
  "sidecars that do not count": {
    about: "a pod counts as ended while its sidecar runs",
    seed: 5,
    edits: [
      {
        file: state,
        find: "if (hasRunning(status.initContainerStatuses) || hasRunning(status.ephemeralContainerStatuses)) return false;",
        replace: "",
      },
    ],
  },
  "creations that hang hold all permits": {
    about: "a call that hangs keeps its permit, so that other pods do not start",
    seed: 50,
    edits: [{ file: calls, find: "const permitHoldMs = 5_000;", replace: "const permitHoldMs = 1e9;" }],
  },
  "deletions that wait for creations": {
    about: "a call that hangs keeps its permit, and deletions wait for the same permits",
    seed: 50,
    edits: [
      { file: calls, find: "const permitHoldMs = 5_000;", replace: "const permitHoldMs = 1e9;" },
      {
        file: controller,
        find: "this.#permits = { start: semaphore(), end: semaphore(), ask: semaphore(), confirm: semaphore() };",
        replace: "const shared = semaphore();\n    this.#permits = { start: shared, end: shared, ask: semaphore(), confirm: semaphore() };",
      },
    ],
  },
  "a Retry-After that holds up deletions": {
    about: "a pod whose update or creation was throttled is not deleted before the time the provider asked for",
    seed: 23,
    edits: [
      {
        file: step,
        find: "return next.retryAfter && !endsAlike(state, next) ? { ...next, retryAfter: undefined } : next;",
        replace: "return next;",
      },
      {
        file: plan,
        find: 'return operation === kind || (kind === "inspect" && (operation === "start" || operation === "delete"));',
        replace: 'return operation === kind || kind === "delete" || kind === "inspect";',
      },
    ],
  },
  "a late creation leaked": {
    about: "a deleted pod is removed although a creation that was given up may still succeed",
    seed: 41,
    edits: [
      {
        file: plan,
        find: "if (state.call?.isGivenUp && !(state.deletion && isOver(state))) {",
        replace: "if (isOver(state) && !isOver(state)) {",
      },
      { file: state, find: 'return call === undefined || call.kind === "delete";', replace: "return true;" },
    ],
  },
  "two calls at once": {
    about: "a pod whose call ignores its signal is called for again",
    seed: 41,
    edits: [
      {
        file: controller,
        find: 'onGivenUp: ({ uid }) => void this.#registry.dispatch(uid, { kind: "givenUp" }),',
        replace: "onGivenUp: () => {},",
      },
    ],
  },
  "an end that is gone with its pod": {
    about: "a pod whose end was reported runs again when the back end removes it before the end is written",
    seed: 1018,
    edits: [
      {
        file: step,
        find: 'if (!pod || !hadEndedForGood(pod, state.reported ?? pod.status)) return learn(state, { kind: "absent" }, nowMs);',
        replace: 'if (pod) return learn(state, { kind: "absent" }, nowMs);',
      },
      {
        file: state,
        find: "const ended = states.filter((state, index) => state?.terminated ?? (index === 0 && state?.running));",
        replace: "const ended = states.slice(0, 0);",
      },
    ],
  },
  "any NotFound": {
    about: "a deletion that fails because something else is not found counts as done",
    seed: 42,
    edits: [
      {
        file: worker,
        find: "await this.#questions.confirmNotFound(ref, error, signal);",
        replace: 'registry.dispatch(ref.uid, { kind: "notFound" });',
      },
    ],
  },
  "the whole grace again": {
    about: "a deletion that is tried again gives the pod its whole grace once more",
    edits: [
      {
        file: plan,
        find: `function secondsLeft({ deadlineMs }: EndDeadline, nowMs: number): number {
  return Math.max(0, Math.ceil(Math.round(deadlineMs - nowMs) / 1000));`,
        replace: `function secondsLeft({ deadlineMs, graceSeconds }: EndDeadline, nowMs: number): number {
  return deadlineMs > nowMs ? graceSeconds : 0;`,
      },
    ],
  },
  "no grace": {
    about: "a deleted pod is ended at once",
    edits: [{ file: plan, find: "return Math.max(0, Math.ceil(Math.round(deadlineMs - nowMs) / 1000));", replace: "return 0;" }],
  },
  "an older inventory": {
    about: "an inventory that was asked for before a report came overwrites it",
    seed: 37,
    edits: [{ file: states, find: "if (!state || state.touchedMs > startedMs) return;\n    try", replace: "if (!state) return;\n    try" }],
  },
  "any pod of that name": {
    about: "the last removal names no UID, and takes a pod that was made again under the name",
    edits: [
      {
        file: statuses,
        find: "{ gracePeriodSeconds: 0, preconditions: { uid: state.ref.uid } }",
        replace: "{ gracePeriodSeconds: 0 }",
      },
    ],
  },
  "services of other namespaces": {
    about: "a pod is given the services of all namespaces but its own",
    edits: [
      {
        file: "packages/core/src/api-server/service-lister.ts",
        find: "service.metadata?.namespace === namespace);",
        replace: "service.metadata?.namespace !== namespace);",
      },
    ],
  },
  "anything for a list": {
    about: "a 200 that is no list counts as an empty one, and one that is no pod as an answer that there is none",
    seed: 95,
    edits: [
      {
        file: client,
        find: "return checkedList(answer, { resource, operation, namespace: query.namespace, metadataOnly }, query.continue);",
        replace: `const { items, metadata } = answer as { items?: T[]; metadata?: { resourceVersion?: string } };
    return { items: items ?? [], resourceVersion: metadata?.resourceVersion ?? "", continue: undefined };`,
      },
      {
        file: client,
        find: `return checkedObject(await this.#json(call, options), { resource, operation, name, subresource, metadataOnly: answer === "metadata" });`,
        replace: "return (await this.#json(call, options)) as T;",
      },
    ],
  },
  "a Lease without Retry-After": {
    about: "a server that asks to be left alone with the node's Lease is asked again at once",
    edits: [
      { file: lease, find: "return askedMs === undefined ? 0 :", replace: "return askedMs === undefined || maxMs > 0 ? 0 :" },
      { file: lease, find: "const isBusy = retryAfterMsOf(error) !== undefined ||", replace: "const isBusy = failures < 0 &&" },
    ],
  },
  "a Lease that waits too long": {
    about: "a server that asks to be left alone for an hour is, until the node is lost",
    seed: 35,
    edits: [{ file: lease, find: "Math.min(maxMs, askedMs * (1 +", replace: "Math.min(Infinity, askedMs * (1 +" }],
  },
  "a lost node written on": {
    about: "an instance whose node another one has taken goes on until its calls have ended",
    seed: 150,
    edits: [
      {
        file: "packages/core/src/node/node-controller.ts",
        find: "if (error instanceof NodeHeldError) this.#lost.abort(error);",
        replace: "",
      },
    ],
  },
  "an end taken for a release": {
    about: "a deleted pod is over with its containers, although its provider still holds what it used",
    edits: [
      { file: step, find: "  if (status.endsWhenGone) return false;\n", replace: "" },
      { file: step, find: "reported.endsWhenGone || ", replace: "" },
    ],
  },
};
