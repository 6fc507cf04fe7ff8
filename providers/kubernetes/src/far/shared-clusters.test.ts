import { expect, test } from "vitest";
import { SharedClusters } from "./shared-clusters.ts";

/** Something to share that counts how often it was opened and closed. */
function countingCluster(): { readonly counts: { opened: number; closed: number }; readonly open: () => Promise<AsyncDisposable> } {
  const counts = { opened: 0, closed: 0 };
  const open = (): Promise<AsyncDisposable> => {
    counts.opened++;
    return Promise.resolve({ [Symbol.asyncDispose]: async () => void (counts.closed += 1) });
  };
  return { counts, open };
}

test("nodes of one far cluster share it, and the last one closes it", async () => {
  const { counts, open } = countingCluster();
  const shared = new SharedClusters();
  const [one, two] = await Promise.all([shared.acquire("far", open), shared.acquire("far", open)]);
  expect(one.far).toBe(two.far);

  await one[Symbol.asyncDispose]();
  await one[Symbol.asyncDispose]();
  expect(counts).toEqual({ opened: 1, closed: 0 });
  await two[Symbol.asyncDispose]();

  expect(counts).toEqual({ opened: 1, closed: 1 });
});

test("another far cluster, and one that was closed, are opened anew", async () => {
  const { counts, open } = countingCluster();
  const shared = new SharedClusters();
  const first = await shared.acquire("far", open);
  await first[Symbol.asyncDispose]();

  const [again, other] = await Promise.all([shared.acquire("far", open), shared.acquire("other", open)]);

  expect(again.far).not.toBe(first.far);
  expect(again.far).not.toBe(other.far);
  expect(counts).toEqual({ opened: 3, closed: 1 });
});

test("a far cluster that cannot be opened is tried again by the next node", async () => {
  const { open } = countingCluster();
  const shared = new SharedClusters();
  await expect(shared.acquire("far", () => Promise.reject(new Error("no kubeconfig")))).rejects.toThrow("no kubeconfig");

  await expect(shared.acquire("far", open)).resolves.toBeDefined();
});
