import { expect, test } from "vitest";
import { fakeNode, fakeRequest } from "../test-support/fake-node.ts";
import { HealthChecks, kubeletChecks } from "./health.ts";

const logWorks = (): undefined => undefined;

test("the log check reports the problem of the log, and is absent if the log cannot be checked", async () => {
  let problem: string | undefined = "write EPIPE";
  const checks = new HealthChecks(kubeletChecks([fakeNode()], () => problem));
  const log = fakeRequest({ params: { check: "log" } });

  expect(await checks.all(fakeRequest())).toMatchObject({ status: 500, body: expect.stringContaining("[-]log failed: reason withheld") });
  expect(await checks.one(log)).toMatchObject({ status: 500, body: "internal server error: write EPIPE\n" });
  problem = undefined;
  expect(await checks.one(log)).toMatchObject({ status: 200 });
  expect(() => new HealthChecks(kubeletChecks([fakeNode()])).one(log)).toThrow("404");
});

test("healthy checks give ok", async () => {
  const checks = new HealthChecks(kubeletChecks([fakeNode()], logWorks));

  expect(await checks.all(fakeRequest())).toMatchObject({ status: 200, body: "ok" });
  expect(await checks.all(fakeRequest({ query: "verbose" }))).toMatchObject({
    status: 200,
    body: "[+]ping ok\n[+]log ok\n[+]syncloop ok\nhealthz check passed\n",
  });
  expect(await checks.one(fakeRequest({ params: { check: "syncloop" } }))).toMatchObject({ status: 200, body: "ok" });
});

test("if a node does not work its check fails, and the problem is shown only when the check is requested by name", async () => {
  const checks = new HealthChecks(kubeletChecks([fakeNode(), fakeNode({ name: "n2", problem: () => "no contact for 1m" })], logWorks));

  expect(await checks.all(fakeRequest())).toMatchObject({
    status: 500,
    body: "[+]ping ok\n[+]log ok\n[-]syncloop failed: reason withheld\nhealthz check failed\n",
  });
  expect(await checks.one(fakeRequest({ params: { check: "syncloop" } }))).toMatchObject({
    status: 500,
    body: "internal server error: node n2: no contact for 1m\n",
  });
});

test("checks can be excluded, and an unknown one is reported", async () => {
  const checks = new HealthChecks(kubeletChecks([fakeNode({ problem: () => "down" })], logWorks));

  expect(await checks.all(fakeRequest({ query: "exclude=syncloop&exclude=nonsense&verbose=1" }))).toMatchObject({
    status: 200,
    body: '[+]ping ok\n[+]log ok\n[+]syncloop excluded: ok\nwarn: some health checks cannot be excluded: no matches for "nonsense"\nhealthz check passed\n',
  });
});

test("the results of the checks are counted", async () => {
  const checks = new HealthChecks(kubeletChecks([fakeNode({ problem: () => "down" })], logWorks));
  await checks.all(fakeRequest({ query: "exclude=log&exclude=ping" }));
  await checks.one(fakeRequest({ params: { check: "ping" } }));

  const { body } = (await checks.slis(fakeRequest())) as { body: string };

  expect(body).toBe(
    [
      "# HELP kubernetes_healthcheck [STABLE] This metric records the result of a single healthcheck.",
      "# TYPE kubernetes_healthcheck gauge",
      'kubernetes_healthcheck{name="ping",type="healthz"} 1',
      'kubernetes_healthcheck{name="log",type="healthz"} 1',
      'kubernetes_healthcheck{name="syncloop",type="healthz"} 0',
      "# HELP kubernetes_healthchecks_total [STABLE] This metric records the results of all healthcheck.",
      "# TYPE kubernetes_healthchecks_total counter",
      'kubernetes_healthchecks_total{name="syncloop",status="success",type="healthz"} 0',
      'kubernetes_healthchecks_total{name="syncloop",status="error",type="healthz"} 2',
      'kubernetes_healthchecks_total{name="ping",status="success",type="healthz"} 2',
      'kubernetes_healthchecks_total{name="ping",status="error",type="healthz"} 0',
      'kubernetes_healthchecks_total{name="log",status="success",type="healthz"} 1',
      'kubernetes_healthchecks_total{name="log",status="error",type="healthz"} 0',
      "",
    ].join("\n"),
  );
});

test("an unknown check is 404", () => {
  const checks = new HealthChecks([]);

  expect(() => checks.one(fakeRequest({ params: { check: "x" } }))).toThrow("404: Page Not Found");
});

test("all problems are listed with their nodes; a single node is not named", async () => {
  const syncloop = async (...problems: (string | undefined)[]): Promise<unknown> => {
    const nodes = problems.map((problem, index) => fakeNode({ name: `n${index + 1}`, problem: () => problem }));
    return new HealthChecks(kubeletChecks(nodes)).one(fakeRequest({ params: { check: "syncloop" } }));
  };

  expect(await syncloop("a", undefined, "b")).toMatchObject({ body: "internal server error: node n1: a; node n3: b\n" });
  expect(await syncloop("a")).toMatchObject({ status: 500, body: "internal server error: a\n" });
  expect(await syncloop(undefined, undefined)).toMatchObject({ status: 200 });
});

test("several unknown checks are reported even if another check fails", async () => {
  const checks = new HealthChecks([{ name: "disk", problem: () => "full" }]);

  expect(await checks.all(fakeRequest({ query: "exclude=a&exclude=b" }))).toMatchObject({
    status: 500,
    body: '[-]disk failed: reason withheld\nwarn: some health checks cannot be excluded: no matches for "a","b"\nhealthz check failed\n',
  });
});

test("a healthy check after a failing one does not hide the failure", async () => {
  const checks = new HealthChecks([
    { name: "disk", problem: () => "full" },
    { name: "ping", problem: () => undefined },
  ]);

  expect(await checks.all(fakeRequest())).toMatchObject({ status: 500 });
});
