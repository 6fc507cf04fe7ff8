import { expect } from "vitest";
import type { Answer, Api } from "./support/api.ts";
import { configMapNamed } from "./support/objects.ts";
import { test } from "./support/parity-test.ts";
import { waitForCache } from "./support/watch-cache.ts";

/** Config maps `a`, `b`, … with a label that excludes the others in the namespace. */
async function createConfigMaps(api: Api, core: string, names: string): Promise<void> {
  for (const name of names) await api.create(`${core}/configmaps`, configMapNamed(name, {}, { labels: { test: "list" } }));
}

function namesOf({ body }: Answer): string[] {
  return body.items.map((item: { metadata: { name: string } }) => item.metadata.name);
}

const secret = (name: string): unknown => ({ metadata: { name } });

test("a list has a kind and a version, and its items have neither", async ({ api, core }) => {
  await createConfigMaps(api, core, "ba");

  expect(await api.get(`${core}/configmaps?labelSelector=test=list`)).toMatchInlineSnapshot(`
    200 {
      apiVersion: "v1",
      items: [
        {
          metadata: {
            creationTimestamp: "TIME",
            labels: {test: "list"},
            name: "a",
            namespace: "NAMESPACE",
            resourceVersion: VERSION,
            uid: "UID",
          },
        },
        {
          metadata: {
            creationTimestamp: "TIME",
            labels: {test: "list"},
            name: "b",
            namespace: "NAMESPACE",
            resourceVersion: VERSION,
            uid: "UID",
          },
        },
      ],
      kind: "ConfigMapList",
      metadata: {resourceVersion: VERSION},
    }
  `);
});

test("an empty list has an empty array of items", async ({ api, core, apps }) => {
  expect(await api.get(`${core}/pods`)).toMatchInlineSnapshot(
    `200 {apiVersion: "v1", items: [], kind: "PodList", metadata: {resourceVersion: VERSION}}`,
  );
  expect(await api.get(`${apps}/deployments`)).toMatchInlineSnapshot(
    `200 {apiVersion: "apps/v1", items: [], kind: "DeploymentList", metadata: {resourceVersion: VERSION}}`,
  );
});

test("objects of all namespaces are listed in the order of namespace and name", async ({ api, core, namespace }) => {
  await createConfigMaps(api, core, "b");
  const all = await api.get("/api/v1/configmaps");
  const keys = all.body.items.map(
    (item: { metadata: { name: string; namespace: string } }) => `${item.metadata.namespace}/${item.metadata.name}`,
  );

  expect(keys).toContain(`${namespace}/b`);
  expect(keys).toContain(`kube-system/extension-apiserver-authentication`);
  expect(keys).toEqual(keys.toSorted());
});

test("limit and continue return a list in pages", async ({ api, core }) => {
  for (const name of "edcba") await api.create(`${core}/secrets`, secret(name));
  const first = await api.get(`${core}/secrets?limit=2`);
  const second = await api.get(`${core}/secrets?limit=2&continue=${first.body.metadata.continue}`);
  const third = await api.get(`${core}/secrets?limit=2&continue=${second.body.metadata.continue}`);

  expect([first, second, third].map(namesOf)).toEqual([["a", "b"], ["c", "d"], ["e"]]);
  expect([first, second, third].map(({ body }) => body.metadata.remainingItemCount)).toEqual([3, 1, undefined]);
  expect(third.body.metadata.continue).toBeUndefined();
});

test("all pages show the state of the first page", async ({ api, core }) => {
  for (const name of "abcd") await api.create(`${core}/secrets`, secret(name));
  const first = await api.get(`${core}/secrets?limit=2`);
  await api.delete(`${core}/secrets/c`);
  await api.create(`${core}/secrets`, secret("cc"));
  const second = await api.get(`${core}/secrets?limit=2&continue=${first.body.metadata.continue}`);

  expect(namesOf(second)).toEqual(["c", "d"]);
  expect(second.body.metadata.resourceVersion).toBe(first.body.metadata.resourceVersion);
});

test("with a label selector pages do not contain the number of remaining items", async ({ api, core }) => {
  await createConfigMaps(api, core, "abc");
  const first = await api.get(`${core}/configmaps?labelSelector=test=list&limit=2`);

  expect(namesOf(first)).toEqual(["a", "b"]);
  expect(first.body.metadata.remainingItemCount).toBeUndefined();
  expect(namesOf(await api.get(`${core}/configmaps?labelSelector=test=list&limit=2&continue=${first.body.metadata.continue}`))).toEqual([
    "c",
  ]);
});

test("a limit of at least the size of the list returns no continue token", async ({ api, core }) => {
  for (const name of "ab") await api.create(`${core}/secrets`, secret(name));

  expect((await api.get(`${core}/secrets?limit=2`)).body.metadata.continue).toBeUndefined();
});

test("an invalid continue token is refused", async ({ api, core }) => {
  const { status, body } = await api.get(`${core}/secrets?limit=1&continue=nonsense`);

  expect(status).toBe(400);
  expect(body).toMatchObject({
    reason: "BadRequest",
    message: expect.stringMatching(/^invalid continue token: continue key is not valid/),
  });
});

test("a continue token with a resourceVersion is refused", async ({ api, core }) => {
  for (const name of "ab") await api.create(`${core}/secrets`, secret(name));
  const { metadata } = (await api.get(`${core}/secrets?limit=1`)).body;

  expect(await api.get(`${core}/secrets?limit=1&resourceVersion=1&continue=${metadata.continue}`)).toMatchInlineSnapshot(
    `400 Failure {message: "specifying resource version is not allowed when using continue", reason: "BadRequest"}`,
  );
  expect((await api.get(`${core}/secrets?limit=1&resourceVersion=0&continue=${metadata.continue}`)).status).toBe(200);
});

test("resourceVersion 0 returns any state, and ignores the limit", async ({ api, core }) => {
  for (const name of "abc") await api.create(`${core}/secrets`, secret(name));
  await waitForCache(api, `${core}/secrets`);
  const answer = await api.get(`${core}/secrets?resourceVersion=0&limit=1`);

  expect(namesOf(answer)).toEqual(["a", "b", "c"]);
  expect(answer.body.metadata.continue).toBeUndefined();
});

test("a list with NotOlderThan can be newer than the version", async ({ api, core }) => {
  const { metadata } = await api.create(`${core}/secrets`, secret("a"));
  await api.create(`${core}/secrets`, secret("b"));
  await waitForCache(api, `${core}/secrets`);

  expect(namesOf(await api.get(`${core}/secrets?resourceVersion=${metadata.resourceVersion}`))).toEqual(["a", "b"]);
  expect(namesOf(await api.get(`${core}/secrets?resourceVersion=${metadata.resourceVersion}&resourceVersionMatch=NotOlderThan`))).toEqual([
    "a",
    "b",
  ]);
  expect(namesOf(await api.get(`${core}/secrets?resourceVersion=0&resourceVersionMatch=NotOlderThan`))).toEqual(["a", "b"]);
});

test("a list with Exact shows the state of that version, and reports the version", async ({ api, core }) => {
  const { metadata } = await api.create(`${core}/secrets`, secret("a"));
  await api.create(`${core}/secrets`, secret("b"));
  const answer = await api.get(`${core}/secrets?resourceVersion=${metadata.resourceVersion}&resourceVersionMatch=Exact`);

  expect(namesOf(answer)).toEqual(["a"]);
  expect(answer.body.metadata.resourceVersion).toBe(metadata.resourceVersion);
});

test("a limit with a version means Exact", async ({ api, core }) => {
  const { metadata } = await api.create(`${core}/secrets`, secret("a"));
  await api.create(`${core}/secrets`, secret("b"));
  const answer = await api.get(`${core}/secrets?resourceVersion=${metadata.resourceVersion}&limit=5`);

  expect(namesOf(answer)).toEqual(["a"]);
});

test("a limit with NotOlderThan does not mean Exact", async ({ api, core }) => {
  const { metadata } = await api.create(`${core}/secrets`, secret("a"));
  await api.create(`${core}/secrets`, secret("b"));
  await waitForCache(api, `${core}/secrets`);
  const answer = await api.get(`${core}/secrets?resourceVersion=${metadata.resourceVersion}&resourceVersionMatch=NotOlderThan&limit=5`);

  expect(namesOf(answer)).toEqual(["a", "b"]);
});

test("contradictory options of a list are refused", async ({ api, core }) => {
  const list = (query: string): Promise<Answer> => api.get(`${core}/secrets?${query}`);

  expect(await list("resourceVersionMatch=Exact")).toMatchInlineSnapshot(`
    422 Failure {
      details: {
        causes: [
          {
            field: "resourceVersionMatch",
            message: "Forbidden: resourceVersionMatch is forbidden unless resourceVersion is provided",
            reason: "FieldValueForbidden",
          },
        ],
        group: "meta.k8s.io",
        kind: "ListOptions",
      },
      message: 'ListOptions.meta.k8s.io "" is invalid: resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden unless resourceVersion is provided',
      reason: "Invalid",
    }
  `);
  expect(await list("resourceVersionMatch=Exact&resourceVersion=0")).toMatchInlineSnapshot(`
    422 Failure {
      details: {
        causes: [
          {
            field: "resourceVersionMatch",
            message: 'Forbidden: resourceVersionMatch "exact" is forbidden for resourceVersion "0"',
            reason: "FieldValueForbidden",
          },
        ],
        group: "meta.k8s.io",
        kind: "ListOptions",
      },
      message: 'ListOptions.meta.k8s.io "" is invalid: resourceVersionMatch: Forbidden: resourceVersionMatch "exact" is forbidden for resourceVersion "0"',
      reason: "Invalid",
    }
  `);
  expect(await list("resourceVersionMatch=Roughly&resourceVersion=1")).toMatchInlineSnapshot(`
    422 Failure {
      details: {
        causes: [
          {
            field: "resourceVersionMatch",
            message: 'Unsupported value: "Roughly": supported values: "Exact", "NotOlderThan", ""',
            reason: "FieldValueNotSupported",
          },
        ],
        group: "meta.k8s.io",
        kind: "ListOptions",
      },
      message: 'ListOptions.meta.k8s.io "" is invalid: resourceVersionMatch: Unsupported value: "Roughly": supported values: "Exact", "NotOlderThan", ""',
      reason: "Invalid",
    }
  `);
  expect(await list("resourceVersionMatch=NotOlderThan&resourceVersion=1&continue=abc")).toMatchInlineSnapshot(`
    422 Failure {
      details: {
        causes: [
          {
            field: "resourceVersionMatch",
            message: "Forbidden: resourceVersionMatch is forbidden when continue is provided",
            reason: "FieldValueForbidden",
          },
        ],
        group: "meta.k8s.io",
        kind: "ListOptions",
      },
      message: 'ListOptions.meta.k8s.io "" is invalid: resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden when continue is provided',
      reason: "Invalid",
    }
  `);
  expect(await list("sendInitialEvents=true")).toMatchInlineSnapshot(`
    422 Failure {
      details: {
        causes: [{field: "sendInitialEvents", message: "Forbidden: sendInitialEvents is forbidden for list", reason: "FieldValueForbidden"}],
        group: "meta.k8s.io",
        kind: "ListOptions",
      },
      message: 'ListOptions.meta.k8s.io "" is invalid: sendInitialEvents: Forbidden: sendInitialEvents is forbidden for list',
      reason: "Invalid",
    }
  `);
});

test("options of a list with the wrong type are refused", async ({ api, core }) => {
  expect(await api.get(`${core}/secrets?limit=many`)).toMatchInlineSnapshot(
    `400 Failure {message: 'strconv.ParseInt: parsing "many": invalid syntax', reason: "BadRequest"}`,
  );
  expect(await api.get(`${core}/secrets?resourceVersion=new`)).toMatchInlineSnapshot(`
    400 Failure {
      message: 'invalid resource version: resourceVersion: Invalid value: "new": strconv.ParseUint: parsing "new": invalid syntax',
      reason: "BadRequest",
    }
  `);
  expect(await api.get(`${core}/secrets?timeoutSeconds=long`)).toMatchInlineSnapshot(
    `400 Failure {message: 'strconv.ParseInt: parsing "long": invalid syntax', reason: "BadRequest"}`,
  );
});

test("a list at a future version fails with 504 after a while", async ({ api, core }) => {
  const answer = await api.get(`${core}/secrets?resourceVersion=999999999`);

  expect(answer).toMatchInlineSnapshot(`
    504 Failure {
      details: {causes: [{message: "Too large resource version", reason: "ResourceVersionTooLarge"}], retryAfterSeconds: 1},
      message: "Timeout: Too large resource version: VERSION, current: VERSION",
      reason: "Timeout",
    }
  `);
  expect(answer.headers["retry-after"]).toBe("1");
});

test("the version of a list is at least that of the last write to any kind", async ({ api, core }) => {
  const { metadata } = await api.create(`${core}/configmaps`, configMapNamed("a"));
  const list = await api.get(`${core}/secrets`);

  expect(Number(list.body.metadata.resourceVersion)).toBeGreaterThanOrEqual(Number(metadata.resourceVersion));
});
