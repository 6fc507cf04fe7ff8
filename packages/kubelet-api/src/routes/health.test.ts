import { expect, test } from "vitest";
import { fakeNode, fakeRequest } from "../test-support/fake-node.ts";
import { HealthChecks, kubeletChecks } from "./health.ts";

const logWorks = (): undefined => undefined;

test("the check of the log says what is so, and is not there where that cannot be told", async () => {
  let problem: string | undefined = "write EPIPE";
  const checks = new HealthChecks(kubeletChecks([fakeNode()], () => problem));
  const log = fakeRequest({ params: { check: "log" } });

  expect(await checks.all(fakeRequest())).toMatchObject({ status: 500, body: expect.stringContaining("[-]log failed: reason withheld") });
  expect(await checks.one(log)).toMatchObject({ status: 500, body: "internal server error: write EPIPE\n" });
  problem = undefined;
  expect(await checks.one(log)).toMatchObject({ status: 200 });
  expect(() => new HealthChecks(kubeletChecks([fakeNode()])).one(log)).toThrow("404");
});

test("all is well", async () => {
  const checks = new HealthChecks(kubeletChecks([fakeNode()], logWorks));

  expect(await checks.all(fakeRequest())).toMatchObject({ status: 200, body: "ok" });
  expect(await checks.all(fakeRequest({ query: "verbose" }))).toMatchObject({
    status: 200,
    body: "[+]ping ok\n[+]log ok\n[+]syncloop ok\nhealthz check passed\n",
  });
  expect(await checks.one(fakeRequest({ params: { check: "syncloop" } }))).toMatchObject({ status: 200, body: "ok" });
});

test("a node that does not work fails the check, which says so only where it is asked for by name", async () => {
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

test("checks can be left out, and one that is not there is told of", async () => {
  const checks = new HealthChecks(kubeletChecks([fakeNode({ problem: () => "down" })], logWorks));

  expect(await checks.all(fakeRequest({ query: "exclude=syncloop&exclude=nonsense&verbose=1" }))).toMatchObject({
    status: 200,
    body: '[+]ping ok\n[+]log ok\n[+]syncloop excluded: ok\nwarn: some health checks cannot be excluded: no matches for "nonsense"\nhealthz check passed\n',
  });
});

test("how the checks went is counted", async () => {
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

test("a check that is not there is 404", () => {
  const checks = new HealthChecks([]);

  expect(() => checks.one(fakeRequest({ params: { check: "x" } }))).toThrow("404: Page Not Found");
});

test("of several problems all are told, by their nodes; of a node alone without its name", async () => {
  const syncloop = async (...problems: (string | undefined)[]): Promise<unknown> => {
    const nodes = problems.map((problem, index) => fakeNode({ name: `n${index + 1}`, problem: () => problem }));
    return new HealthChecks(kubeletChecks(nodes)).one(fakeRequest({ params: { check: "syncloop" } }));
  };

  expect(await syncloop("a", undefined, "b")).toMatchObject({ body: "internal server error: node n1: a; node n3: b\n" });
  expect(await syncloop("a")).toMatchObject({ status: 500, body: "internal server error: a\n" });
  expect(await syncloop(undefined, undefined)).toMatchObject({ status: 200 });
});

test("several checks that are not there are told of, also where another one fails", async () => {
  const checks = new HealthChecks([{ name: "disk", problem: () => "full" }]);

  expect(await checks.all(fakeRequest({ query: "exclude=a&exclude=b" }))).toMatchObject({
    status: 500,
    body: '[-]disk failed: reason withheld\nwarn: some health checks cannot be excluded: no matches for "a","b"\nhealthz check failed\n',
  });
});

test("a check that comes after one that fails does not make up for it", async () => {
  const checks = new HealthChecks([
    { name: "disk", problem: () => "full" },
    { name: "ping", problem: () => undefined },
  ]);

  expect(await checks.all(fakeRequest())).toMatchObject({ status: 500 });
});
