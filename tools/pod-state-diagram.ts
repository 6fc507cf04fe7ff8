import type { ContainerState, Pod } from "@virtual-kubelet/kube-client";
import type { EventTime, PodEvent } from "../packages/core/src/pod/state/pod-event.ts";
import { nextAction } from "../packages/core/src/pod/state/next-action.ts";
import { newPodState, type PodState, type ProviderCall } from "../packages/core/src/pod/state/pod-state.ts";
import { step } from "../packages/core/src/pod/state/pod-step.ts";
import type { ProviderPodStatus } from "../packages/core/src/provider/pod-lifecycle.ts";

/** The pod on both sides. */
interface Situation {
  readonly state: PodState;
  /** `undefined` when the store has none. */
  readonly pod: Pod | undefined;
}

/** Something that can happen in a situation, in words, and what the store holds afterwards. */
interface Happening {
  readonly label: string;
  readonly event: PodEvent;
  readonly pod: Pod | undefined;
}

const ref = { namespace: "default", name: "web", uid: "u1" };
const live: Pod = { metadata: ref, spec: { containers: [{ name: "main" }], restartPolicy: "Always" }, status: { phase: "Running" } };
const changed: Pod = { ...live, metadata: { ...ref, labels: { v: "2" } } };
const failed: Pod = { ...live, status: { phase: "Failed" } };
const deleted: Pod = { ...live, metadata: { ...ref, deletionTimestamp: "1970-01-01T00:00:30Z", deletionGracePeriodSeconds: 30 } };

const changes: ReadonlyMap<Pod, string> = new Map([
  [failed, "is called Failed"],
  [deleted, "is being deleted"],
]);

/** Soon after what went before, and long after it: some conclusions depend on the time that has passed. */
const times: readonly EventTime[] = [1_000, 1_000_000].map((ms) => ({ nowMs: ms, wallMs: ms }));

function report(state: ContainerState, phase: ProviderPodStatus["phase"]): ProviderPodStatus {
  return { phase, containerStatuses: [{ name: "main", image: "", imageID: "", ready: false, restartCount: 0, state }] };
}

/** What the provider can say of a pod that it holds. */
const statuses: Readonly<Record<string, ProviderPodStatus>> = {
  running: report({ running: {} }, "Running"),
  "between two runs": report({ terminated: { exitCode: 0 } }, "Running"),
  ended: report({ terminated: { exitCode: 0 } }, "Succeeded"),
};

/** What the API server and the provider can say at any time. */
function heard({ state, pod }: Situation): Happening[] {
  const stays = (label: string, event: PodEvent): Happening => ({ label, event, pod });
  const happenings: Happening[] = [
    stays("reported gone", { kind: "reportedGone", pod }),
    stays("not in the list", { kind: "unlisted", isFirst: false, neverStarted: false }),
    ...Object.entries(statuses).map(([name, status]) => stays(`reported ${name}`, { kind: "held", status, asked: false, pod })),
  ];
  if (state.call === undefined && state.firstSeenMs === state.touchedMs) {
    for (const neverStarted of [true, false])
      happenings.push(stays("not in the first list", { kind: "unlisted", isFirst: true, neverStarted }));
  }
  if (state.api === "gone") return happenings;
  const isFinal = state.deletion !== undefined || pod?.metadata?.deletionTimestamp !== undefined;
  for (const next of isFinal ? [deleted] : [live, changed, failed, deleted])
    happenings.push({
      label: changes.get(next) ?? "changed",
      event: { kind: "bound", pod: next, isNew: false, neverStarted: false },
      pod: next,
    });
  happenings.push({ label: "missing", event: { kind: "missing" }, pod: undefined });
  happenings.push({ label: "deleted", event: { kind: "vanished" }, pod: undefined });
  return happenings;
}

const methods: Readonly<Record<ProviderCall["kind"], string>> = { start: "createPod", update: "updatePod", delete: "deletePod" };

/** How the call under way can go on. */
function calls({ state, pod }: Situation): Happening[] {
  const { call } = state;
  if (!call) return [];
  const method = methods[call.kind];
  const happens = (label: string, event: PodEvent): Happening => ({ label: `${method} ${label}`, event, pod });
  if (call.isGivenUp) return [happens("comes back late", { kind: "settled" })];
  const outcomes = [
    happens("returns", { kind: "returned", pod }),
    happens("fails", { kind: "failed", message: "" }),
    happens("hangs", { kind: "givenUp" }),
  ];
  if (call.kind !== "delete") outcomes.push(happens("is refused", { kind: "refused", pod, message: "" }));
  if (call.kind !== "start") outcomes.push(happens("says not found", { kind: "doubted" }));
  return outcomes;
}

/** What the worker does next. */
function planned({ state, pod }: Situation, time: EventTime): Happening[] {
  if (state.call) return [];
  const begin = (kind: ProviderCall["kind"]): Happening => ({
    label: `${methods[kind]} is called`,
    event: {
      kind: "called",
      pod,
      call: { kind, abort: new AbortController(), startedMs: time.nowMs, isGivenUp: false, reportedGone: false },
      end: kind === "delete" ? { deadlineMs: time.nowMs + 30_000, lookAtMs: time.nowMs + 32_000 } : undefined,
    },
    pod,
  });
  const plan = nextAction(pod, state, time);
  switch (plan.kind) {
    case "start":
    case "update":
    case "delete":
      return [begin(plan.kind)];
    case "inspect":
      return [
        { label: "getPod says not found", event: { kind: "notFound", pod }, pod },
        ...Object.entries(statuses).map(([name, status]): Happening => ({
          label: `getPod finds it ${name}`,
          event: { kind: "held", status, asked: true, pod },
          pod,
        })),
      ];
    case "expire":
      return [
        { label: "expires", event: { kind: "judged", verdict: { kind: "expired", reason: "", message: "" }, graceSeconds: 30 }, pod },
      ];
    case "nothing":
    case "wait":
    case "confirm":
    case "finish":
    case "forget":
      return [];
    default:
      return plan satisfies never;
  }
}

/** Situations that differ in this are looked at apart; times are not part of it, because each is tried early and late. */
function keyOf({ state, pod }: Situation): string {
  const { api, backend, call, reported, endedMs, deletion, teardown, seen, admitted, unconfirmed, verdict } = state;
  return JSON.stringify([
    [api, backend.kind, backend.kind === "ending" && backend.accepted, deletion !== undefined, teardown !== undefined],
    ["applied" in backend && backend.applied?.spec !== undefined, seen, admitted, unconfirmed !== undefined, verdict?.kind],
    [backend.kind === "absent" && backend.isUnconfirmed, call?.kind, call?.isGivenUp, call?.reportedGone],
    [reported?.phase, reported?.containerStatuses?.[0]?.state, endedMs !== undefined],
    [pod?.metadata?.labels, pod?.metadata?.deletionTimestamp, pod?.status?.phase],
    state.firstSeenMs === state.touchedMs,
  ]);
}

/** Every transition of the back end's state that can happen, as `from` → `to` → what causes it. */
export function podTransitions(): ReadonlyMap<string, ReadonlyMap<string, ReadonlySet<string>>> {
  const transitions = new Map<string, Map<string, Set<string>>>();
  const note = (from: string, to: string, label: string): void => {
    const ways = transitions.get(from) ?? new Map<string, Set<string>>();
    const labels = ways.get(to) ?? new Set<string>();
    transitions.set(from, ways.set(to, labels.add(label)));
  };
  const known = new Set<string>();
  const open: Situation[] = [];
  const reach = (situation: Situation): void => {
    const key = keyOf(situation);
    if (known.has(key)) return;
    known.add(key);
    open.push(situation);
  };
  for (const neverStarted of [true, false]) {
    const state = step(newPodState(ref, 0), { kind: "bound", pod: live, isNew: true, neverStarted }, { nowMs: 0, wallMs: 0 });
    note("[*]", state.backend.kind, neverStarted ? "a new pod" : "a pod found at the start");
    reach({ state, pod: live });
  }
  for (let situation = open.pop(); situation; situation = open.pop()) {
    const from = situation.state.backend.kind;
    for (const time of times) {
      if (nextAction(situation.pod, situation.state, time).kind === "forget") note(from, "[*]", "no API object is left");
      for (const { label, event, pod } of [...heard(situation), ...calls(situation), ...planned(situation, time)]) {
        const state = step(situation.state, event, time);
        if (state.backend.kind !== from) note(from, state.backend.kind, label);
        reach({ state, pod });
      }
    }
  }
  return transitions;
}

/** The causes as a label; what is the same whatever the provider says of the pod is said once. */
function labelOf(causes: ReadonlySet<string>): string {
  const left = new Set(causes);
  for (const said of ["reported", "getPod finds it"]) {
    const all = Object.keys(statuses).map((name) => `${said} ${name}`);
    if (!all.every((cause) => left.has(cause))) continue;
    for (const cause of all) left.delete(cause);
    left.add(said);
  }
  return [...left].sort().join("<br/>");
}

/** The diagram of a pod's state at the back end, in Mermaid, from the code itself. */
export function renderPodStates(): string {
  const transitions = podTransitions();
  const order = ["[*]", "unknown", "absent", "present", "ending", "gone"];
  const lines = order.flatMap((from) =>
    [...order.slice(1), "[*]"].flatMap((to) => {
      const causes = transitions.get(from)?.get(to);
      return causes ? [`    ${from} --> ${to}: ${labelOf(causes)}`] : [];
    }),
  );
  return ["```mermaid", "stateDiagram-v2", ...lines, "```"].join("\n");
}
