import { expect, test } from "vitest";
import { fakeNode, fakeRequest } from "../test-support/fake-node.ts";
import { HealthChecks, kubeletChecks } from "./health.ts";

test("all is well", async () => {
  const checks = new HealthChecks(kubeletChecks([fakeNode()]));

  expect(await checks.all(fakeRequest())).toMatchObject({ status: 200, body: "ok" });
  expect(await checks.all(fakeRequest({ query: "verbose" }))).toMatchObject({
    status: 200,
    body: "[+]ping ok\n[+]log ok\n[+]syncloop ok\nhealthz check passed\n",
  });
  expect(await checks.one(fakeRequest({ params: { check: "syncloop" } }))).toMatchObject({ status: 200, body: "ok" });
});

test("a node that does not work fails the check, which says so only where it is asked for by name", async () => {
  const checks = new HealthChecks(kubeletChecks([fakeNode(), fakeNode({ name: "n2", problem: () => "no contact for 1m" })]));

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
  const checks = new HealthChecks(kubeletChecks([fakeNode({ problem: () => "down" })]));

  expect(await checks.all(fakeRequest({ query: "exclude=syncloop&exclude=nonsense&verbose=1" }))).toMatchObject({
    status: 200,
    body: '[+]ping ok\n[+]log ok\n[+]syncloop excluded: ok\nwarn: some health checks cannot be excluded: no matches for "nonsense"\nhealthz check passed\n',
  });
});

test("how the checks went is counted", async () => {
  const checks = new HealthChecks(kubeletChecks([fakeNode({ problem: () => "down" })]));

  const { body } = (await checks.slis(fakeRequest())) as { body: string };

  expect(body).toContain('kubernetes_healthcheck{name="ping",type="healthz"} 1\n');
  expect(body).toContain('kubernetes_healthcheck{name="syncloop",type="healthz"} 0\n');
  expect(body).toContain('kubernetes_healthchecks_total{name="syncloop",status="error",type="healthz"} 1\n');
});

test("a check that is not there is 404", () => {
  const checks = new HealthChecks([]);

  expect(() => checks.one(fakeRequest({ params: { check: "x" } }))).toThrow("404: Page Not Found");
});
