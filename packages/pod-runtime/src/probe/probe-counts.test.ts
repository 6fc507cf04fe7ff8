import { expect, test } from "vitest";
import { ProbeCounts } from "./probe-counts.ts";

const web = { namespace: "default", name: "web", uid: "u1" };
const labels = { container: "app", namespace: "default", pod: "web", probe_type: "Liveness" };

test("probes are counted by result under a kubelet's names, and the durations of successful ones are recorded", () => {
  const counts = new ProbeCounts();
  for (const seconds of [0.01, 0.3, 60]) counts.count(web, { container: "app", kind: "liveness", outcome: "success", seconds });
  counts.count(web, { container: "app", kind: "liveness", outcome: "failure", seconds: 1 });
  counts.count(web, { container: "app", kind: "readiness", outcome: "failure", seconds: 1 });
  counts.count(web, { container: "app", kind: "startup", outcome: "error", seconds: 1 });

  const [total, duration] = counts.families();

  expect(total).toMatchObject({ name: "prober_probe_total", type: "counter" });
  expect(total?.samples).toEqual([
    { labels: { ...labels, pod_uid: "u1", result: "successful" }, value: 3 },
    { labels: { ...labels, pod_uid: "u1", result: "failed" }, value: 1 },
    { labels: { ...labels, probe_type: "Readiness", pod_uid: "u1", result: "failed" }, value: 1 },
  ]);
  expect(duration).toMatchObject({ name: "prober_probe_duration_seconds", type: "histogram" });
  const buckets = duration?.samples.filter(({ suffix }) => suffix === "_bucket");
  expect(buckets?.map(({ labels: each, value }) => `${each?.["le"]}: ${value}`)).toEqual([
    ...["0.005: 0", "0.01: 1", "0.025: 1", "0.05: 1", "0.1: 1", "0.25: 1", "0.5: 2", "1: 2", "2.5: 2", "5: 2", "10: 2", "+Inf: 3"],
  ]);
  expect(duration?.samples.slice(-2)).toEqual([
    { suffix: "_sum", labels, value: 60.31 },
    { suffix: "_count", labels, value: 3 },
  ]);
});

test("the counts of a pod are removed with the pod", () => {
  const counts = new ProbeCounts();
  const other = { ...web, name: "other", uid: "u2" };
  for (const pod of [web, other]) counts.count(pod, { container: "app", kind: "liveness", outcome: "success", seconds: 1 });

  counts.forget(web);

  expect(counts.families()[0]?.samples).toHaveLength(1);
  counts.forget(other);
  expect(counts.families()).toEqual([]);
});

test("durations of two pods with the same name, one of which is still ending, are one histogram, and results are counted separately", () => {
  const counts = new ProbeCounts();
  for (const [uid, seconds] of [
    ["u1", 0.01],
    ["u2", 0.3],
    ["u2", 60],
  ] as const)
    counts.count({ ...web, uid }, { container: "app", kind: "liveness", outcome: "success", seconds });
  counts.count({ ...web, name: "other", uid: "u3" }, { container: "app", kind: "liveness", outcome: "success", seconds: 1 });

  const [total, duration] = counts.families();

  expect(total?.samples.map(({ labels: each, value }) => [each?.["pod_uid"], value])).toEqual([
    ["u1", 1],
    ["u2", 2],
    ["u3", 1],
  ]);
  const names = duration?.samples.map(({ suffix, labels: each }) => JSON.stringify([suffix, each])) ?? [];
  expect(new Set(names).size).toBe(names.length);
  const ofWeb = duration?.samples.filter(({ labels: each }) => each?.["pod"] === "web");
  expect(ofWeb?.map(({ value }) => Math.round(value * 100) / 100)).toEqual([0, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 3, 60.31, 3]);
});
