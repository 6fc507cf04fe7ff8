import { VirtualClock } from "@virtual-kubelet/clock";
import { expect, test } from "vitest";
import { RecordingMetrics } from "../test-support/recording-metrics.ts";
import { RequestMetrics } from "./request-metrics.ts";

function rig() {
  const [clock, metrics] = [new VirtualClock(), new RecordingMetrics()];
  return { clock, samples: metrics.samples, requests: new RequestMetrics({ metrics, clock }) };
}

/** Labels with which a request is counted: method, path and whether it is long-running. */
function labelsOf(method: string, path: string): string {
  const { samples, requests } = rig();
  requests.begin(method, path.split("/").slice(1));
  const [, ...labels] = /method="(.*)",path="(.*)",server_type="readwrite",long_running="(.*)"/.exec(samples[0] ?? "") ?? [];
  return labels.join(" ");
}

const exec = (more: string): string => `{method="GET",path="exec",server_type="readwrite",long_running="true"} ${more}`.trim();

test("a request is counted when it starts, and its duration is recorded in seconds when it ends", async () => {
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

test("requests in progress are counted per method and path", () => {
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
])("/%s has its own label value, for all paths below it as well", (root) => {
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
])("%s is counted as %s", (path, expected) => {
  expect(labelsOf("GET", path)).toBe(`GET ${expected} false`);
});

test("a malformed path is counted as other", () => {
  const { samples, requests } = rig();
  requests.begin("GET", []);

  expect(samples[0]).toContain('path="other"');
});

test("known methods have label values of their own", () => {
  for (const method of ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "CONNECT", "OPTIONS", "TRACE"])
    expect(labelsOf(method, "/pods")).toBe(`${method} pods false`);
  for (const method of ["BREW", "get", ""]) expect(labelsOf(method, "/pods")).toBe("other pods false");
});

test("WebSockets are counted by their purpose", () => {
  const { samples, requests } = rig();

  requests.countWebSocket("exec");

  expect(samples).toEqual(['kubelet_websocket_streaming_requests_total{subresource="exec"}']);
});
