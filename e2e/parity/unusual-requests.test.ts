import { expect } from "vitest";
import { configMapNamed, podNamed } from "./support/objects.ts";
import { test } from "./support/parity-test.ts";
import { refusal } from "./support/refusals.ts";

test("parameters are read as in Go", async ({ api, core }) => {
  const path = `${core}/configmaps`;
  await api.create(path, configMapNamed("a"));
  const requests: readonly (readonly [string, string, unknown?])[] = [
    ["POST", `${path}?dryRun=`, configMapNamed("b")],
    ["PUT", `${path}/a?dryRun=`, configMapNamed("a", { a: "1" })],
    ["DELETE", `${path}/a?dryRun=`],
    ["DELETE", `${path}?dryRun=`],
    ["DELETE", `${path}/a?propagationPolicy=`],
    ["GET", `${path}?limit=9223372036854775808`],
    ["GET", `${path}?limit=9223372036854775807`],
    ["GET", `${path}?limit=-9223372036854775809`],
    ["GET", `${path}?timeoutSeconds=99999999999999999999`],
    ["GET", `${path}?limit=1;watch=1`],
    ["GET", `${path}?limit=x;y`],
    ["GET", `${path}?resourceVersion=18446744073709551616`],
    ["GET", `${path}?resourceVersion=18446744073709551616&watch=1`],
    ["GET", `${path}/a?resourceVersion=18446744073709551616`],
    ["GET", `${path}?resourceVersion=-1`],
    ["GET", `${path}?resourceVersion=9223372036854775808`],
  ];

  for (const [method, url, body] of requests) {
    const answer = await api.request(method, url, body === undefined ? {} : { body });
    expect(answer.status < 300 ? answer.status : refusal(answer)).toMatchSnapshot(`${method} ${url.slice(core.length)}`);
  }
  expect((await api.get(`${path}/b`)).status).toBe(404);
  expect((await api.get(`${path}/a`)).body.data).toBeUndefined();
});

test("a watch whose time is negative or too long to count ends at once", async ({ api, core }) => {
  for (const seconds of ["-1", "10000000000", "99999999999"]) {
    using watch = await api.watch(`${core}/configmaps?watch=1&resourceVersion=0&timeoutSeconds=${seconds}`);
    const late = new Promise((resolve) => setTimeout(resolve, 3000, "open"));
    expect([seconds, watch.status, await Promise.race([watch.rest().then(() => "ended"), late])]).toMatchSnapshot();
  }
});

test("empty numbers and the options of watches are refused as in Go", async ({ api, core }) => {
  const path = `${core}/configmaps`;
  await api.create(path, configMapNamed("a"));
  await api.create(path, configMapNamed("b"));
  await api.create(`${core}/pods`, podNamed("web"));
  const { metadata } = (await api.get(`${path}?limit=1`)).body;
  const token = metadata.continue;
  const queries: readonly (readonly [name: string, query: string])[] = [
    ["empty limit", "limit="],
    ["limit without a sign of equality", "limit"],
    ["second limit", "limit=&limit=1"],
    ["empty timeout", "timeoutSeconds="],
    ["empty limit of a watch", "limit=&watch=1"],
    ["empty timeout of a watch", "timeoutSeconds=&watch=1"],
    ["token of a watch", `watch=1&continue=${token}`],
    ["malformed token of a watch", "watch=1&continue=x"],
    ["token and version 0 of a watch", `watch=1&resourceVersion=0&continue=${token}`],
    ["token and version of a watch", `watch=1&resourceVersion=${metadata.resourceVersion}&continue=${token}`],
    ["token and initial events of a watch", `watch=1&sendInitialEvents=true&continue=${token}`],
    ["limit of a watch", "watch=1&limit=1"],
    ["limit and version 0 of a watch", "watch=1&limit=1&resourceVersion=0"],
    ["limit and version of a watch", `watch=1&limit=1&resourceVersion=${metadata.resourceVersion}`],
    ["empty token of a watch", "watch=1&continue="],
  ];

  const seen: Record<string, unknown> = {};
  for (const [name, query] of queries) {
    // Without a timeout, a watch that is accepted would stay open.
    const answer = await api.get(`${path}?${query}${query.includes("timeoutSeconds") ? "" : "&timeoutSeconds=1"}`);
    seen[name] = answer.status < 300 ? answer.status : refusal(answer);
  }
  for (const url of ["pods/web/log?tailLines=", "pods/web/log?sinceSeconds=", "pods/web/log?limitBytes="])
    seen[url] = refusal(await api.get(`${core}/${url}`));
  seen["grace period"] = refusal(await api.delete(`${path}/a?gracePeriodSeconds=`));
  expect(seen).toMatchSnapshot();
});

test("an escaped slash separates segments, and a name may have any bytes", async ({ api, core }) => {
  await api.create(`${core}/configmaps`, configMapNamed("a"));
  await api.create(`${core}/pods`, podNamed("web"));
  const paths = ["configmaps%2Fa", "configmaps/%61", "configmaps/%ff", "configmaps/a%00", "pods/web:80%2Fadmin/proxy"];

  for (const path of paths) {
    const answer = await api.get(`${core}/${path}`);
    expect(answer.status < 300 ? answer.body.metadata.name : answer.status).toMatchSnapshot(path);
  }
});

test("methods of paths without resources", async ({ api }) => {
  const statuses: Record<string, number> = {};
  for (const method of ["HEAD", "OPTIONS", "POST", "DELETE"])
    for (const path of [
      "/",
      "/api",
      "/apis",
      "/apis/apps",
      "/apis/apps/v1",
      "/healthz",
      "/readyz/ping",
      "/healthz/pingx",
      "/version",
      "/openapi/v2",
      "/openapi/v3",
      "/openapi/v3/api/v1",
      "/none",
    ])
      statuses[`${method} ${path}`] = (await api.request(method, path)).status;
  expect(statuses).toMatchSnapshot();
});

test("resources with names that objects inherit are refused as others", async ({ api, core }) => {
  const resources = { limits: { cpu: "1" }, requests: { toString: "1" } };
  const limits = [{ type: "Container", max: { constructor: "1" } }];

  expect(refusal(await api.post(`${core}/pods`, podNamed("a", { containers: [{ name: "a", image: "a", resources }] })))).toMatchSnapshot(
    "pod",
  );
  expect(refusal(await api.post(`${core}/limitranges`, { metadata: { name: "a" }, spec: { limits } }))).toMatchSnapshot("limit range");
});
