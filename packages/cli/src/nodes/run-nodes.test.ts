import { VirtualClock } from "@virtual-kubelet/clock";
import { NodeHeldError } from "@virtual-kubelet/core";
import { silentLogger } from "@virtual-kubelet/kube-client";
import { expect, test } from "vitest";
import { runNodes, type RunnableNode } from "./run-nodes.ts";

/** A node whose course a test decides. */
class FakeNode implements RunnableNode {
  readonly #ready = Promise.withResolvers<void>();
  readonly #ended = Promise.withResolvers<void>();
  /** Whether it stops when it is told to. */
  obedient = true;
  health = { ready: false, standingBy: false };
  stopReason: unknown;
  shutdownTimeoutMs: number | undefined;

  get ready(): Promise<void> {
    return this.#ready.promise;
  }

  becomeReady(): void {
    this.health = { ready: true, standingBy: false };
    this.#ready.resolve();
  }

  fail(error: unknown): void {
    this.#ended.reject(error);
  }

  async run(signal: AbortSignal, { shutdownTimeoutMs }: { readonly shutdownTimeoutMs: number }): Promise<void> {
    this.shutdownTimeoutMs = shutdownTimeoutMs;
    signal.addEventListener("abort", () => {
      this.stopReason = signal.reason;
      if (this.obedient) this.#ended.resolve();
    });
    return this.#ended.promise;
  }
}

function rig(names: readonly string[] = ["a"], startupTimeoutMs: number = 0) {
  const clock = new VirtualClock();
  const stop = new AbortController();
  const nodes = names.map((name) => ({ name, node: new FakeNode() }));
  const code = runNodes({ nodes, signal: stop.signal, startupTimeoutMs, shutdownTimeoutMs: 30_000, clock, logger: silentLogger });
  return { clock, stop, nodes: nodes.map(({ node }) => node), code };
}

test("a stop that all nodes follow is a success", async () => {
  const { clock, code, nodes, stop } = rig(["a", "b"]);
  nodes.forEach((node) => node.becomeReady());

  stop.abort(new Error("received SIGTERM"));

  expect(await code).toBe(0);
  expect(nodes.map(({ stopReason }) => String(stopReason))).toEqual(["Error: received SIGTERM", "Error: received SIGTERM"]);
  expect(nodes[0]?.shutdownTimeoutMs).toBe(30_000);
  expect(clock.pending).toBe(0);
});

test("one node that fails stops the others, and the program fails", async () => {
  const { code, nodes } = rig(["a", "b"]);

  nodes[0]?.fail(new Error("broken"));

  expect(await code).toBe(1);
  expect(String(nodes[1]?.stopReason)).toBe("Error: broken");
});

test("a node that another instance holds ends with 78", async () => {
  const { code, nodes } = rig();

  nodes[0]?.fail(
    new NodeHeldError({ nodeName: "a", identity: "me", startId: "1" }, {}, "it renewed the lease while this instance watched"),
  );

  expect(await code).toBe(78);
});

test("a node that is not ready in time ends with 69", async () => {
  const { clock, code, nodes } = rig(["a", "b"], 5_000);
  nodes[0]?.becomeReady();

  await clock.advance(5_000);

  expect(await code).toBe(69);
});

test("a node that stands by is not late, and has the whole time when it takes over", async () => {
  const { clock, code, nodes, stop } = rig(["a", "b"], 5_000);
  const [first, second] = nodes;
  first?.becomeReady();
  if (second) second.health = { ready: false, standingBy: true };

  await clock.advance(3_600_000);
  if (second) second.health = { ready: false, standingBy: false };
  await clock.advance(4_000);
  expect(first?.stopReason).toBeUndefined();
  await clock.advance(1_000);

  expect(await code).toBe(69);
  expect(String(first?.stopReason)).toContain("not ready within 5 s");
  expect(stop.signal.aborted).toBe(false);
});

test("nodes that are ready in time are left alone", async () => {
  const { clock, code, nodes, stop } = rig(["a"], 5_000);
  nodes[0]?.becomeReady();

  await clock.advance(60_000);
  stop.abort(new Error("enough"));

  expect(await code).toBe(0);
});

test("a node that does not stop is left behind, and the program fails", async () => {
  const { clock, code, nodes, stop } = rig();
  for (const node of nodes) node.obedient = false;

  stop.abort(new Error("received SIGTERM"));
  await clock.advance(35_000);

  expect(await code).toBe(1);
});
