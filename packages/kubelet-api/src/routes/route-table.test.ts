import { VirtualClock } from "@virtual-kubelet/clock";
import { afterAll, beforeAll, expect, test } from "vitest";
import { fakeNode, fakePod } from "../test-support/fake-node.ts";
import { TestServer } from "../test-support/test-server.ts";

const plain = "text/plain; charset=utf-8";
const figures = "text/plain; version=0.0.4; charset=utf-8";
const time = "2026-03-01T10:00:00Z";
const podRef = { namespace: "default", name: "web", uid: "u1" };
const cpu = { time, usageCoreNanoSeconds: 2_000_000_000 };
const memory = { time, workingSetBytes: 1024 };

let server: TestServer;

beforeAll(async () => {
  const provider = {
    getStatsSummary: async () => ({
      pods: [
        {
          podRef,
          startTime: time,
          containers: [{ name: "main", startTime: time, cpu, memory }],
          network: { time, name: "eth0", rxBytes: 5 },
        },
      ],
    }),
    getContainerLogs: async () => ({ data: one("line\n") }),
    runInContainer: async () => ({ exitCode: 0 }),
  };
  const owner = { clusterId: "c", nodeName: "n1" };
  const status = { containerStatuses: fakePod().status?.containerStatuses ?? [] };
  server = await TestServer.open({
    nodes: [fakeNode({ pods: [fakePod()], provider, getPods: async () => ({ pods: [{ ref: podRef, owner, status }], complete: true }) })],
    renderMetrics: () => "own 1\n",
    logProblem: () => undefined,
    healthChecks: [{ name: "disk", problem: () => "full" }],
    clock: new VirtualClock(Date.parse("2026-03-01T10:00:00Z")),
  });
});

afterAll(() => server[Symbol.asyncDispose]());

async function* one(chunk: string): AsyncGenerator<string> {
  yield chunk;
}

test.each([
  ["GET", "/healthz?exclude=disk", 200, plain, "ok"],
  ["PUT", "/healthz", 500, plain, "[+]ping ok\n[+]log ok\n[+]syncloop ok\n[-]disk failed: reason withheld\nhealthz check failed\n"],
  ["GET", "/healthz/ping", 200, plain, "ok"],
  ["GET", "/healthz/disk", 500, plain, "internal server error: full\n"],
  ["GET", "/pods", 200, "application/json", '"name":"web"'],
  ["GET", "/runningpods", 200, "application/json", '"items":[{"metadata":{"name":"web","namespace":"default","uid":"u1"}'],
  ["GET", "/runningpods/", 200, "application/json", '"spec":{"containers":[{"name":"main","image":"busybox","resources":{}}]}'],
  ["GET", "/containerLogs/default/web/main", 200, plain, "line\n"],
  ["GET", "/exec/default/web/main?output=1&command=ls", 500, plain, "Upgrade request required"],
  ["POST", "/exec/default/web/main?output=1&command=ls", 500, plain, "Upgrade request required"],
  ["GET", "/exec/default/web/u1/main?output=1&command=ls", 500, plain, "Upgrade request required"],
  ["POST", "/exec/default/web/u2/main?output=1&command=ls", 404, plain, "pod does not exist"],
  ["GET", "/attach/default/web/main?output=1", 500, plain, "Upgrade request required"],
  ["POST", "/attach/default/web/main?output=1", 500, plain, "Upgrade request required"],
  ["GET", "/attach/default/web/u1/main?output=1", 500, plain, "Upgrade request required"],
  ["POST", "/attach/default/web/u2/main?output=1", 404, plain, "pod does not exist"],
  ["GET", "/portForward/default/web", 500, plain, "Upgrade request required"],
  ["POST", "/portForward/default/web", 500, plain, "Upgrade request required"],
  ["GET", "/portForward/default/web/u1", 500, plain, "Upgrade request required"],
  ["POST", "/portForward/default/web/u2", 404, plain, "pod does not exist"],
  ["POST", "/run/default/web/main?cmd=ls", 200, "application/json", ""],
  ["POST", "/run/default/web/u1/main?cmd=ls", 200, "application/json", ""],
  ["POST", "/run/default/web/u2/main?cmd=ls", 404, plain, "pod does not exist"],
  ["GET", "/stats/summary", 200, "application/json", '"nodeName":"n1"'],
  ["POST", "/stats/summary", 200, "application/json", '"rxBytes":5'],
  ["GET", "/metrics", 200, figures, "own 1\n"],
  [
    "GET",
    "/metrics/resource",
    200,
    figures,
    'container_cpu_usage_seconds_total{container="main",pod="web",namespace="default"} 2 1772359200000\n',
  ],
  ["GET", "/metrics/cadvisor", 200, figures, 'container_memory_working_set_bytes{container="main",'],
  ["GET", "/metrics/slis", 200, figures, 'kubernetes_healthcheck{name="disk",type="healthz"} 0\n'],
  ["POST", "/checkpoint/default/web/main", 404, plain, "checkpoints are not supported by a virtual node."],
  ["GET", "/logs/", 405, plain, "logs endpoint is disabled."],
  ["GET", "/logs/a/b", 405, plain, "logs endpoint is disabled."],
  ["GET", "/debug/pprof/heap", 405, plain, "profiling endpoint is disabled."],
  ["PUT", "/debug/flags/v", 405, plain, "flags endpoint is disabled."],
  ["GET", "/spec", 404, plain, "404: Page Not Found"],
  ["GET", "/", 404, plain, "404: Page Not Found"],
])("%s %s is %i", async (method, path, status, contentType, text) => {
  const answer = await server.get(path, { method });

  expect(answer).toMatchObject({ status, headers: { "content-type": contentType } });
  expect(answer.text).toContain(text);
});

test.each([
  ["POST", "/pods", "GET"],
  ["HEAD", "/pods", "GET"],
  ["DELETE", "/runningpods", "GET"],
  ["POST", "/containerLogs/default/web/main", "GET"],
  ["PUT", "/exec/default/web/main", "GET, POST"],
  ["PUT", "/exec/default/web/u1/main", "GET, POST"],
  ["PUT", "/attach/default/web/main", "GET, POST"],
  ["PUT", "/attach/default/web/u1/main", "GET, POST"],
  ["PUT", "/portForward/default/web", "GET, POST"],
  ["PUT", "/portForward/default/web/u1", "GET, POST"],
  ["GET", "/run/default/web/main", "POST"],
  ["GET", "/run/default/web/u1/main", "POST"],
  ["DELETE", "/stats/summary", "GET, POST"],
  ["POST", "/metrics", "GET"],
  ["POST", "/metrics/resource", "GET"],
  ["POST", "/metrics/cadvisor", "GET"],
  ["POST", "/metrics/probes", "GET"],
  ["POST", "/metrics/slis", "GET"],
  ["POST", "/configz", "GET"],
  ["GET", "/checkpoint/default/web/main", "POST"],
  ["POST", "/logs/", "GET"],
  ["POST", "/debug/pprof/heap", "GET"],
  ["GET", "/debug/flags/v", "PUT"],
])("%s %s is 405, and the answer lists the allowed methods: %s", async (method, path, allow) => {
  expect(await server.get(path, { method })).toMatchObject({ status: 405, headers: { allow } });
});

test("without metrics of its own the program shows none", async () => {
  await using bare = await TestServer.open();

  expect(await bare.get("/metrics")).toMatchObject({ status: 200, text: "" });
  expect((await bare.get("/healthz?verbose")).text).toBe("[+]ping ok\n[+]syncloop ok\nhealthz check passed\n");
});

test("/metrics/probes contains the start time of the server, and nothing else", async () => {
  expect(await server.get("/metrics/probes")).toMatchObject({
    headers: { "content-type": figures },
    text:
      "# HELP process_start_time_seconds [ALPHA] Start time of the process since unix epoch in seconds.\n" +
      "# TYPE process_start_time_seconds gauge\nprocess_start_time_seconds 1772359200\n",
  });
});

test("/configz shows the effective settings of the server", async () => {
  const answer = await server.get("/configz");

  expect(answer.headers["content-type"]).toBe("application/json");
  expect(JSON.parse(answer.text)).toEqual({
    kubeletconfig: {
      kind: "KubeletConfiguration",
      apiVersion: "kubelet.config.k8s.io/v1beta1",
      enableServer: true,
      port: server.port,
      readOnlyPort: 0,
      tlsMinVersion: "VersionTLS12",
      tlsCipherSuites: [
        "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256",
        "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256",
        "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384",
        "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384",
        "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256",
        "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256",
      ],
      enableDebuggingHandlers: true,
      enableSystemLogHandler: false,
      enableSystemLogQuery: false,
      enableProfilingHandler: false,
      enableDebugFlagsHandler: false,
      streamingConnectionIdleTimeout: "4h0m0s",
    },
  });
});

test("/configz shows configured settings", async () => {
  const tls = { minVersion: "VersionTLS13", cipherSuites: ["TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256"] } as const;
  await using set = await TestServer.open({ tls, limits: { streaming: { idleMs: 90_500 } } });

  expect(JSON.parse((await set.get("/configz")).text)).toMatchObject({
    kubeletconfig: { tlsMinVersion: "VersionTLS13", tlsCipherSuites: tls.cipherSuites, streamingConnectionIdleTimeout: "1m30.5s" },
  });
});

test("if no suite of TLS 1.2 is configured, /configz shows TLS 1.3 as the minimum", async () => {
  await using set = await TestServer.open({ tls: { minVersion: "VersionTLS12", cipherSuites: ["TLS_AES_128_GCM_SHA256"] } });

  expect(JSON.parse((await set.get("/configz")).text)).toMatchObject({ kubeletconfig: { tlsMinVersion: "VersionTLS13" } });
});

test("a text answer has the header x-content-type-options: nosniff", async () => {
  expect((await server.get("/healthz/ping")).headers["x-content-type-options"]).toBe("nosniff");
});
