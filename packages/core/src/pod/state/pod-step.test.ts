import type { ContainerStatus, Pod } from "@virtual-kubelet/kube-client";
import { describe, expect, test } from "vitest";
import type { ProviderPodStatus } from "../../provider/pod-lifecycle.ts";
import type { PodEvent } from "./pod-event.ts";
import { nextAction, type PodAction } from "./next-action.ts";
import { isOver, mayBeHeld, newPodState, type PodState, type ProviderCall } from "./pod-state.ts";
import { step } from "./pod-step.ts";

const ref = { namespace: "default", name: "web", uid: "u1" };
const exited = { terminated: { exitCode: 1 } };
const runs = { running: {} };

function podOf(change: { readonly spec?: object; readonly status?: object; readonly metadata?: object } = {}): Pod {
  return {
    metadata: { ...ref, ...change.metadata },
    spec: { restartPolicy: "Always", containers: [{ name: "main" }], ...change.spec },
    status: { phase: "Running", ...change.status },
  };
}

const deleted = podOf({ metadata: { deletionTimestamp: "2026-01-01T00:00:30Z", deletionGracePeriodSeconds: 30 } });

function report(state: ContainerStatus["state"], change: object = {}): ProviderPodStatus {
  return {
    phase: "Running",
    containerStatuses: [{ name: "main", image: "", imageID: "", ready: false, restartCount: 0, state }],
    ...change,
  };
}

/** A pod whose events come one second after another, on both clocks. */
class Story {
  state: PodState = newPodState(ref, 0);
  pod: Pod | undefined = podOf();
  nowMs = 0;

  on(...events: readonly PodEvent[]): this {
    for (const event of events) {
      this.nowMs += 1_000;
      if (event.kind === "bound") this.pod = event.pod as Pod;
      if (event.kind === "vanished" || event.kind === "missing") this.pod = undefined;
      this.state = step(this.state, event, { nowMs: this.nowMs, wallMs: this.nowMs });
    }
    return this;
  }

  after(ms: number): this {
    this.nowMs += ms;
    return this;
  }

  get action(): PodAction["kind"] {
    return nextAction(this.pod, this.state, { nowMs: this.nowMs, wallMs: this.nowMs }).kind;
  }
}

const bound = (pod: Pod = podOf(), isNew = false): PodEvent => ({ kind: "bound", pod, isNew, neverStarted: true });
const held = (status: ProviderPodStatus, pod = podOf()): PodEvent => ({ kind: "held", status, asked: false, pod });
const called = (kind: ProviderCall["kind"], graceMs = 30_000): PodEvent => ({
  kind: "called",
  pod: podOf(),
  call: { kind, abort: new AbortController(), startedMs: 0, isGivenUp: false, reportedGone: false },
  end: kind === "delete" ? { deadlineMs: graceMs, lookAtMs: graceMs + 2_000 } : undefined,
});
const returned: PodEvent = { kind: "returned", pod: podOf() };
const running = (): Story => new Story().on(bound(podOf(), true), called("start"), returned, held(report(runs)));

test("of a pod that the provider runs, only the newest version is held, unless the provider has to be told of it", () => {
  const started = running();
  const newer = podOf({ metadata: { resourceVersion: "2" }, status: { podIP: "10.0.0.1" } });
  started.on(bound(newer));
  expect(started.state.backend).toMatchObject({ kind: "present" });
  expect(started.state.backend.kind === "present" && started.state.backend.applied).toBe(newer);

  const relabeled = podOf({ metadata: { labels: { app: "web" } } });
  const [changed, moreGenerations] = [running().on(bound(relabeled)), running().on(bound(podOf({ metadata: { generation: 2 } })))];

  expect(changed.action).toBe("update");
  for (const { state } of [changed, moreGenerations])
    expect(state.backend.kind === "present" && state.backend.applied.metadata).toEqual(podOf().metadata);
});

describe("a pod that ends when it is gone", () => {
  const releasing = report(exited, { endsWhenGone: true });
  const ending = (status = releasing): Story => running().on(bound(deleted), called("delete"), returned, held(status, deleted));

  test.each(["Running", "Failed"])("is waited for after its containers have ended, in phase %s", (phase) => {
    expect(isOver(ending({ ...releasing, phase }).state)).toBe(false);
    expect(isOver(ending().on({ kind: "reportedGone" }).state)).toBe(true);
    expect(isOver(ending().on({ kind: "notFound" }).state)).toBe(true);
  });

  test("is waited for where its containers had ended before", () => {
    const before = running().on(held(releasing), bound(deleted));
    expect(isOver(before.on(called("delete"), returned).state)).toBe(false);
    expect(isOver(before.on({ kind: "reportedGone" }).state)).toBe(true);
  });

  test("is asked about now and then, and not told to end once more, once nothing of it runs", () => {
    const late = ending().after(60_000);
    expect(late.action).toBe("inspect");
    expect(late.on({ kind: "held", status: releasing, asked: true, pod: deleted }).action).toBe("wait");
    expect(isOver(late.state)).toBe(false);
    expect(ending({ ...report(runs), endsWhenGone: true }).after(60_000).action).toBe("delete");
  });

  test("is not over with what a deletion that does not come back has ended", () => {
    const deaf = running().on(bound(deleted), called("delete"), { kind: "givenUp" }, { kind: "failed", message: "" });
    expect(isOver(deaf.on(held({ ...releasing, phase: "Failed" }, deleted)).state)).toBe(false);
  });
});

describe("a pod whose phase is final", () => {
  const failed = podOf({ status: { phase: "Failed" } });

  test("is ended at the back end, whoever wrote the phase", () => {
    expect(running().on(bound(failed)).action).toBe("delete");
  });

  test("is left there where it has ended by itself: its logs are read until it is deleted", () => {
    expect(running().on(held(report(exited, { phase: "Failed" })), bound(failed)).action).toBe("nothing");
  });

  test("is ended where its container is only between two runs", () => {
    expect(running().on(held(report(exited)), bound(failed)).action).toBe("delete");
  });

  test("is ended again where it is reported to run after all", () => {
    const story = running().on(bound(failed), called("delete"), returned, { kind: "reportedGone" });
    expect(story.action).toBe("nothing");

    expect(story.on(held(report(runs))).action).toBe("delete");
  });

  test("is not looked for where the first inventory lacks it", () => {
    const story = new Story().on(bound(failed), { kind: "unlisted", isFirst: true, neverStarted: false });

    expect([story.state.backend.kind, story.action]).toEqual(["gone", "nothing"]);
  });
});

describe("a deletion", () => {
  test("is over when the containers have ended after it was accepted", () => {
    const story = running().on(bound(deleted), called("delete"), returned, held(report(exited)));

    expect([isOver(story.state), story.action]).toEqual([true, "finish"]);
  });

  test("is not over by a report from before it: under Always the container may be between two runs", () => {
    const story = running().on(held(report(exited)), bound(deleted), called("delete"), returned);
    expect(isOver(story.state)).toBe(false);

    // The provider is asked soon, since it may have nothing left to report.
    expect(story.after(1_000).action).toBe("inspect");
    expect(isOver(story.on({ kind: "notFound" }).state)).toBe(true);
  });

  test("is not over by a report that comes before it is accepted", () => {
    const story = running().on(bound(deleted), called("delete"), held(report(exited)));

    expect(isOver(story.state)).toBe(false);
  });

  test("is over at once where nothing can run again", () => {
    const never = { ...called("delete"), pod: podOf({ spec: { restartPolicy: "Never" } }) } as PodEvent;
    const story = running().on(held(report(exited)), bound(deleted), never, {
      kind: "returned",
      pod: podOf({ spec: { restartPolicy: "Never" } }),
    });

    expect(isOver(story.state)).toBe(true);
  });

  test("is not over while a sidecar runs", () => {
    const sidecar = { initContainerStatuses: [{ name: "side", image: "", imageID: "", ready: true, restartCount: 0, state: runs }] };
    const story = running().on(bound(deleted), called("delete"), returned, held(report(exited, sidecar)));
    expect(isOver(story.state)).toBe(false);

    expect(isOver(story.on({ kind: "reportedGone" }).state)).toBe(true);
  });

  test.each([
    ["behind an init container that has ended", { waiting: { reason: "PodInitializing" } }, { terminated: { exitCode: 143 } }, undefined],
    ["for its next run", { waiting: { reason: "CrashLoopBackOff" } }, undefined, { terminated: { exitCode: 1 } }],
  ])("is over where a container waits %s, once the provider was asked after the grace", (_where, state, init, lastState) => {
    const status = (name: string, each: object): ContainerStatus => ({
      name,
      image: "",
      imageID: "",
      ready: false,
      restartCount: 0,
      ...each,
    });
    const waits: ProviderPodStatus = {
      phase: "Pending",
      initContainerStatuses: init && [status("init", { state: init })],
      containerStatuses: [status("main", { state, lastState })],
    };
    const asked: PodEvent = { kind: "held", status: waits, asked: true, pod: podOf() };
    const story = running().on(bound(deleted), called("delete"));
    expect(isOver(story.on(asked).state)).toBe(false);
    expect(isOver(story.on(returned, held(waits)).state)).toBe(false);

    expect(isOver(story.on(asked).state)).toBe(true);
  });

  test("goes on while a container waits that was never started, or another one runs", () => {
    const [one] = report({ waiting: {} }).containerStatuses ?? [];
    const asked = (status: ProviderPodStatus): PodEvent => ({ kind: "held", status, asked: true, pod: podOf() });
    const story = running().on(bound(deleted), called("delete"), returned);

    expect(isOver(story.on(asked(report({ waiting: {} }))).state)).toBe(false);
    expect(isOver(story.on(asked(report(runs, { initContainerStatuses: one && [{ ...one, state: exited }] }))).state)).toBe(false);
  });

  test("that is not found is not over before the provider was asked for the pod itself", () => {
    const story = running().on(bound(deleted), called("delete"), { kind: "doubted" });

    expect([isOver(story.state), story.action]).toEqual([false, "delete"]);
  });
});

test("an update that is refused after its pod was lost does not make the pod present again", () => {
  const story = running().on(called("update"), { kind: "reportedGone" }, { kind: "refused", pod: podOf(), message: "no" });

  expect(story.state.backend.kind).not.toBe("present");
});

test("a creation that is refused while the provider reports the pod leaves it to be asked for, because an earlier one has made it", () => {
  const story = new Story().on(bound(podOf(), true), called("start"), held(report(runs)), { kind: "refused", pod: podOf(), message: "no" });

  expect([story.state.backend.kind, story.action]).toEqual(["unknown", "inspect"]);
});

test("the end of a pod that the API server has no more is over when the provider accepts it", () => {
  const story = running().on({ kind: "vanished" }, called("delete"), returned);

  expect(isOver(story.state)).toBe(true);
});

describe("a call that was given up", () => {
  const late = (): Story => new Story().on(bound(podOf(), true), called("start"), { kind: "givenUp" }, { kind: "failed", message: "" });

  test("leaves its pod alone until it comes back: no pod has two calls at once", () => {
    expect(late().action).toBe("nothing");
    expect(late().on(bound(deleted)).action).toBe("nothing");
    expect(late().on({ kind: "vanished" }).action).toBe("nothing");
  });

  test("has what it made ended when it comes back, though the pod is gone", () => {
    expect(late().on({ kind: "vanished" }, { kind: "settled" }).action).toBe("delete");
  });

  test("does not keep a deleted pod whose end was reported", () => {
    const story = running().on(bound(deleted), called("delete"), { kind: "givenUp" }, { kind: "reportedGone" });

    expect(story.action).toBe("finish");
  });

  describe("and was to delete the pod", () => {
    const deaf = (): Story => running().on(bound(deleted), called("delete"), { kind: "givenUp" }, { kind: "failed", message: "" });

    test("has the provider asked whether it did", () => {
      expect(deaf().action).toBe("inspect");
      expect(deaf().on({ kind: "notFound" }).action).toBe("finish");
    });

    test("does not keep it where it is reported ended", () => {
      expect(deaf().on(held(report(exited, { phase: "Failed" }))).action).toBe("finish");
    });

    test.each([
      ["runs", report(runs)],
      ["is between two runs", report(exited)],
    ])("is not taken for done while the pod %s", (_how, status) => {
      expect(deaf().on(held(status)).action).toBe("inspect");
    });

    test("leaves alone what is to end otherwise", () => {
      expect(deaf().on({ kind: "vanished" }).action).toBe("nothing");
    });
  });
});

test("what is reported gone while it is created is looked for when the call has come back", () => {
  expect(new Story().on(bound(podOf(), true), called("start"), { kind: "reportedGone" }, returned).action).toBe("inspect");
});

describe("a pod that a relist does not have", () => {
  test("is looked up at the API server, and not ended", () => {
    expect(running().on({ kind: "missing" }).action).toBe("confirm");
  });

  test("is ended once the API server says that it is gone", () => {
    expect(running().on({ kind: "missing" }, { kind: "vanished" }).action).toBe("delete");
  });

  test("goes on where a later list has it", () => {
    expect(running().on({ kind: "missing" }, bound()).action).toBe("nothing");
  });
});

describe("activeDeadlineSeconds", () => {
  const limited = podOf({ spec: { activeDeadlineSeconds: 60 }, status: { startTime: new Date(10_000).toISOString() } });

  test("counts from the status's start time, across restarts of the program", () => {
    const story = new Story().on(bound(limited), held(report(runs), limited));

    expect(story.after(67_000).action).toBe("nothing");
    expect(story.after(1_000).action).toBe("expire");
  });

  test("ends the pod at the back end with its grace", () => {
    const verdict = { kind: "expired", reason: "DeadlineExceeded", message: "" } as const;
    const story = new Story().on(bound(limited), held(report(runs), limited)).after(68_000);

    story.on({ kind: "judged", verdict, graceSeconds: 20 });

    expect(story.action).toBe("delete");
    expect(story.state.teardown).toEqual({ graceSeconds: 20, deadlineMs: story.nowMs + 20_000 });
  });

  test("leaves a pod no more time when it is deleted, too, even if the first delete call failed", () => {
    const verdict = { kind: "expired", reason: "DeadlineExceeded", message: "" } as const;
    const story = new Story().on(bound(limited), held(report(runs), limited)).after(68_000);
    story.on({ kind: "judged", verdict, graceSeconds: 20 });
    const { deadlineMs } = story.state.teardown ?? {};

    story.on(called("delete"), { kind: "failed", message: "too many requests" }, bound(deleted));

    expect(story.state.deletion).toEqual({ graceSeconds: 30, deadlineMs });
    expect(story.action).toBe("delete");
  });
});

describe("a pod that was never started by its status, and that the first inventory lacks", () => {
  const verdict = { kind: "expired", reason: "DeadlineExceeded", message: "" } as const;
  const missing = (): Story => new Story().on(bound(), { kind: "unlisted", isFirst: true, neverStarted: true, pod: podOf() });

  test("is started", () => {
    expect(missing().action).toBe("start");
  });

  test.each<readonly [string, PodEvent, PodAction["kind"]]>([
    ["expires", { kind: "judged", verdict, graceSeconds: 20 }, "inspect"],
    ["is deleted", bound(deleted), "delete"],
    ["has got a final phase", bound(podOf({ status: { phase: "Failed" } })), "inspect"],
  ])("is no longer taken for absent when it %s, because the list may have had a gap", (_, event, action) => {
    const story = missing().on(event);

    expect(isOver(story.state)).toBe(false);
    expect(story.action).toBe(action);
    expect(isOver(story.on({ kind: "notFound" }).state)).toBe(true);
  });
});

test("a pod that only the first inventory lacks is asked about before its end is told, also if its creation was refused", () => {
  const refused: PodEvent = { kind: "refused", pod: podOf(), message: "no such secret" };
  const story = new Story().on(bound(), { kind: "unlisted", isFirst: true, neverStarted: true, pod: podOf() });
  story.on(called("start"), refused, called("start"), refused);
  expect([story.action, mayBeHeld(story.state)]).toEqual(["start", true]);

  expect(story.on(bound(deleted)).action).toBe("delete");
});

test("a new pod whose creation was refused needs no question when it ends", () => {
  const story = new Story().on(bound(podOf(), true), called("start"), { kind: "refused", pod: podOf(), message: "no such secret" });
  expect(mayBeHeld(story.state)).toBe(false);

  expect(story.on(bound(deleted)).action).toBe("finish");
});

describe("a pod that ended for good", () => {
  const job = podOf({ spec: { restartPolicy: "OnFailure", activeDeadlineSeconds: 60 }, status: { startTime: new Date(0).toISOString() } });
  const done = report({ terminated: { exitCode: 0 } }, { phase: "Succeeded" });
  const after = (status: ProviderPodStatus): Story => new Story().on(bound(job), held(report(runs), job), held(status, job));

  test.each<readonly [string, PodEvent]>([
    ["reported gone", { kind: "reportedGone", pod: job }],
    ["not found", { kind: "notFound", pod: job }],
  ])("is not created again when it is %s", (_, gone) => {
    expect(after(done).on(gone).action).toBe("nothing");
    expect(after(report(exited)).on(gone).action).toBe("start");
  });

  test("does not exceed its active deadline afterwards, unless it runs again", () => {
    expect(after(done).after(90_000).action).toBe("nothing");
    expect(after(report({ terminated: { exitCode: 0 } })).after(90_000).action).toBe("expire");
    expect(
      after(done)
        .on(held(report(runs), job))
        .after(90_000).action,
    ).toBe("expire");
  });
});

test("a pod that was changed before this run, and that the first inventory lacks, is told of its change where its creation may have adopted an earlier one", () => {
  const changed = podOf({ metadata: { ...ref, generation: 2 } });
  const story = new Story().on(bound(changed), { kind: "unlisted", isFirst: true, neverStarted: true, pod: changed });
  expect(story.action).toBe("start");

  story.on(called("start"), { kind: "returned", pod: changed });

  expect(story.action).toBe("update");
});

test("a pod that is found with other labels than it has now, which have no generation, is told of its change", () => {
  const found = (change: object): Story => new Story().on(bound(), held(report(runs, change)));

  expect([found({}).action, found({ isMetadataOutdated: true }).action]).toEqual(["nothing", "update"]);
});

describe("a Retry-After", () => {
  const throttled: PodEvent = { kind: "throttled", operation: "delete", ms: 300_000 };

  test("lasts as long as the other side said", () => {
    expect(new Story().on(bound(podOf(), true), throttled).state.retryAfter).toEqual({ operation: "delete", notBeforeMs: 302_000 });
  });

  test.each<readonly [string, PodEvent]>([
    ["the pod is deleted", bound(deleted)],
    ["the pod has a final phase", bound(podOf({ status: { phase: "Failed" } }))],
    ["the pod is gone from the API server", { kind: "vanished" }],
    ["the other side has recovered", { kind: "unthrottled" }],
  ])("is over when %s", (_when, event) => {
    expect(new Story().on(bound(podOf(), true), throttled, event).state.retryAfter).toBeUndefined();
  });

  test("of a deletion is over when the pod is given less grace", () => {
    const sooner = podOf({ metadata: { deletionTimestamp: "2026-01-01T00:00:30Z", deletionGracePeriodSeconds: 5 } });

    expect(new Story().on(bound(deleted), throttled, bound(deleted)).state.retryAfter).toBeDefined();
    expect(new Story().on(bound(deleted), throttled, bound(sooner)).state.retryAfter).toBeUndefined();
  });
});
