import { untilAborted } from "@virtual-kubelet/async";
import { NotFoundError } from "@virtual-kubelet/errdefs";
import { describe, expect, test } from "vitest";
import type { PodRef } from "../../provider/pod-ref.ts";
import type { ProviderPodStatus } from "../../provider/pod-lifecycle.ts";
import { NodeRig } from "../../test-support/node-rig.ts";
import { ended, running } from "../../test-support/scripted-provider.ts";

/** A node whose provider does not notify, and lists its pods once and never again. */
class Rig extends NodeRig {
  readonly asked: string[] = [];
  answer: (ref: PodRef, signal: AbortSignal) => Promise<ProviderPodStatus> = async ({ uid }) => {
    const held = this.provider.held.get(uid);
    if (!held) throw new NotFoundError("none");
    return held.status;
  };

  constructor(pollIntervalMs = 5_000) {
    super({
      provider: {
        notifyPods: undefined,
        getPodStatus: (ref, signal) => {
          this.asked.push(ref.name);
          return this.answer(ref, signal);
        },
      },
      node: { capacity: { cpu: "10", memory: "10Gi", pods: "1000" } },
      pods: { workers: 1_000, pollIntervalMs },
    });
  }

  /** Has these pods run, and the next `getPods` hang. */
  async hang(names: readonly string[]): Promise<readonly PodRef[]> {
    const refs: PodRef[] = [];
    for (const name of names) refs.push(await this.createPod(name));
    await this.settle(6_000);
    this.provider.script("getPods", (_ref, signal) => untilAborted(new Promise(() => {}), signal));
    await this.settle(6_000);
    return refs;
  }

  finish({ uid }: PodRef): void {
    const held = this.provider.held.get(uid);
    if (held) this.provider.held.set(uid, { ...held, status: ended(held.status) });
  }
}

describe("while a provider that does not notify does not list its pods", () => {
  test("a pod that ends is shown as ended", async () => {
    await using rig = await new Rig().start();
    const [web] = await rig.hang(["web"]);
    if (web) rig.finish(web);

    await rig.settle(16_000);

    expect(rig.pod("web")?.status?.phase).toBe("Succeeded");
  });

  test("only pods that run are asked about, until they have ended", async () => {
    await using rig = await new Rig().start();
    const [web] = await rig.hang(["web", "db"]);
    if (web) rig.finish(web);
    rig.provider.reports = false;
    await rig.deletePod("db", 600);
    await rig.settle(16_000);
    rig.asked.length = 0;

    await rig.settle(16_000);

    expect(rig.asked).toEqual([]);
  });

  test("a pod that the provider says it does not hold is asked for once more, and made again", async () => {
    await using rig = await new Rig().start();
    const [web] = await rig.hang(["web"]);
    rig.provider.calls.length = 0;
    if (web) rig.provider.held.delete(web.uid);

    await rig.settle(16_000);

    expect(rig.provider.calls.filter((call) => call !== "getPods")).toEqual(["getPod web", "createPod web"]);
  });

  test("a pod whose question fails stays as it is", async () => {
    await using rig = await new Rig().start();
    await rig.hang(["web"]);
    rig.answer = async () => {
      throw new Error("busy");
    };

    await rig.settle(16_000);

    expect(rig.pod("web")?.status?.phase).toBe("Running");
    expect(rig.provider.calls.filter((call) => call.startsWith("getPod "))).toEqual([]);
  });

  test("a question that is not answered is not asked twice at once, and keeps no other pod waiting", async () => {
    await using rig = await new Rig(1_000).start();
    const [web] = await rig.hang(["web", "db"]);
    rig.answer = ({ uid }) => (uid === web?.uid ? new Promise(() => {}) : Promise.resolve(running(["main"], "10.0.0.9")));

    await rig.settle(60_000);
    await rig.settle(60_000);

    expect(rig.asked.filter((name) => name === "web")).toHaveLength(1);
    expect(rig.pod("db")?.status?.podIP).toBe("10.0.0.9");
  });

  test("a question whose deadline has just passed holds nothing when the node has stopped", async () => {
    await using rig = await new Rig().start();
    await rig.hang(["web"]);
    rig.answer = () => new Promise(() => {});
    while (rig.asked.length === 0) await rig.settle(1_000);
    await rig.settle(10_000);

    rig.abort.abort(new Error("stop"));
    while ((await rig.stateOfRun()) === "pending") await rig.settle(1_000);

    expect(rig.clock.pending).toBe(0);
  });

  test("a round asks about two hundred pods, eight at once, and the next about the others", async () => {
    await using rig = await new Rig().start();
    const names = Array.from({ length: 300 }, (_, index) => `pod-${index}`);
    await rig.hang(names);
    let atOnce = 0;
    let most = 0;
    rig.answer = async ({ uid }) => {
      most = Math.max(most, ++atOnce);
      await rig.clock.sleep(1);
      atOnce--;
      return rig.provider.held.get(uid)?.status ?? {};
    };

    await rig.settle(9_000);
    await rig.settle(1_000);
    const first = new Set(rig.asked);
    await rig.settle(5_000);

    expect(most).toBe(8);
    expect(first.size).toBe(200);
    expect(new Set(rig.asked).size).toBe(300);
  });
});
