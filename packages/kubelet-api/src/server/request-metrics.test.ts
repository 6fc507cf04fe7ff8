import { VirtualClock } from "@virtual-kubelet/clock";
import { expect, test } from "vitest";
import { RecordingMetrics } from "../test-support/recording-metrics.ts";
import { RequestMetrics } from "./request-metrics.ts";

function rig() {
  const [clock, metrics] = [new VirtualClock(), new RecordingMetrics()];
  return { clock, samples: metrics.samples, requests: new RequestMetrics({ metrics, clock }) };
}

/** Method, path and whether it is long-running, as a request is counted. */
function labelsOf(method: string, path: string): string {
  const { samples, requests } = rig();
  requests.begin(method, path.split("/").slice(1));
  const [, ...labels] = /method="(.*)",path="(.*)",server_type="readwrite",long_running="(.*)"/.exec(samples[0] ?? "") ?? [];
  return labels.join(" ");
}

const exec = (more: string): string => `{method="GET",path="exec",server_type="readwrite",long_running="true"} ${more}`.trim();

test("a request is counted when it comes, and timed in seconds when it is over", async () => {
  const { clock, samples, requests } = rig();

  const first = requests.begin("GET", ["exec", "a"]);
  const second = requests.begin("GET", ["exec", "b"]);
  await clock.advance(1_500);
  first[Symbol.dispose]();
  second[Symbol.dispose]();

  expect(samples).toEqual([
    `kubelet_http_requests_total${exec("")}`,
    `kubelet_http_inflight_requests${exec("1")}`,
    `kubelet_http_requests_total${exec("")}`,
    `kubelet_http_inflight_requests${exec("2")}`,
    `kubelet_http_inflight_requests${exec("1")}`,
    `kubelet_http_requests_duration_seconds${exec("1.5")}`,
    `kubelet_http_inflight_requests${exec("0")}`,
    `kubelet_http_requests_duration_seconds${exec("1.5")}`,
  ]);
});

test("requests under way are counted for each method and path", () => {
  const { samples, requests } = rig();
  requests.begin("GET", ["pods"]);
  requests.begin("POST", ["pods"]);
  requests.begin("GET", ["run"]);

  expect(samples.filter((sample) => sample.startsWith("kubelet_http_inflight_requests")).map((sample) => sample.at(-1))).toEqual([
    "1",
    "1",
    "1",
  ]);
});

test.each([
  "checkpoint",
  "configz",
  "containerLogs",
  "flagz",
  "healthz",
  "logs",
  "metrics",
  "pods",
  "portForward",
  "run",
  "runningpods",
  "stats",
  "statusz",
])("/%s has a name of its own, with all that is below it", (root) => {
  expect(labelsOf("GET", `/${root}`)).toBe(`GET ${root} false`);
});

test.each(["attach", "debug", "exec"])("/%s is long-running", (root) => {
  expect(labelsOf("GET", `/${root}/a/b/c`)).toBe(`GET ${root} true`);
});

test.each([
  ["/metrics/cadvisor", "metrics/cadvisor"],
  ["/metrics/probes", "metrics/probes"],
  ["/metrics/resource", "metrics/resource"],
  ["/metrics/slis", "metrics/slis"],
  ["/metrics/x", "other"],
  ["/metrics/", "metrics"],
  ["/stats/summary", "stats"],
  ["/pods/resource", "pods"],
  ["/spec", "other"],
  ["/", "other"],
])("%s counts as %s", (path, expected) => {
  expect(labelsOf("GET", path)).toBe(`GET ${expected} false`);
});

test("a path that could not be read counts as any other", () => {
  const { samples, requests } = rig();
  requests.begin("GET", []);

  expect(samples[0]).toContain('path="other"');
});

test("methods that there are have names of their own", () => {
  for (const method of ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "CONNECT", "OPTIONS", "TRACE"])
    expect(labelsOf(method, "/pods")).toBe(`${method} pods false`);
  for (const method of ["BREW", "get", ""]) expect(labelsOf(method, "/pods")).toBe("other pods false");
});

test("WebSockets are counted by what they are for", () => {
  const { samples, requests } = rig();

  requests.countWebSocket("exec");

  expect(samples).toEqual(['kubelet_websocket_streaming_requests_total{subresource="exec"}']);
});
