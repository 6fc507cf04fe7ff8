import { eventually } from "@virtual-kubelet/testing";
import { expect } from "vitest";
import { configMapNamed, podNamed } from "./support/objects.ts";
import { difference, listedDifferences, testedDifferences } from "./support/known-difference.ts";
import { perServer, test } from "./support/parity-test.ts";
import { templateOf } from "./support/workload-objects.ts";

test("each known difference of the README has a test of its name, and the other way round", () => {
  expect(testedDifferences().toSorted()).toEqual(listedDifferences().toSorted());
});

difference("YAML parser's message in a 400", async ({ api, core }) => {
  const { status, body } = await api.request("POST", `${core}/configmaps`, {
    body: "a: [",
    headers: { "content-type": "application/yaml" },
  });

  expect(status).toBe(400);
  expect(body.message).toMatch(perServer({ embedded: /Flow sequence/, "kube-apiserver": /did not find expected node content/ }));
});

difference("Duplicate fields of a patch without `fieldValidation`", async ({ api, core }) => {
  await api.create(`${core}/configmaps`, configMapNamed("a"));
  const patch = async (query: string) =>
    await api.request("PATCH", `${core}/configmaps/a${query}`, {
      body: '{"data":{"a":"1","a":"2"}}',
      headers: { "content-type": "application/merge-patch+json" },
    });

  expect((await patch("?fieldValidation=Strict")).status).toBe(422);
  expect((await patch("")).headers["warning"] === undefined).toBe(perServer({ embedded: true, "kube-apiserver": false }));
});

difference("Bookmarks of a watch of tables", async ({ api, core }) => {
  const query = "allowWatchBookmarks=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan";
  using watch = await api.watch(`${core}/pods?${query}`, { accept: "application/json;as=Table;v=v1;g=meta.k8s.io" });
  const bookmark = await watch.next();

  expect(bookmark?.type).toBe("BOOKMARK");
  expect(bookmark?.object.kind).toBe(perServer({ embedded: "Pod", "kube-apiserver": "Table" }));
});

difference("Messages of `componentstatuses`", async ({ api }) => {
  const { body } = await api.get("/api/v1/componentstatuses/scheduler");

  expect(body.conditions[0].message).toMatch(perServer({ embedded: /^ok$/, "kube-apiserver": /127\.0\.0\.1:10259/ }));
});

difference("`/proxy` of a node or pod at a loopback address", async ({ api, namespace, core }) => {
  const name = `${namespace}-local`;
  const status = { addresses: [{ type: "InternalIP", address: "127.0.0.1" }], daemonEndpoints: { kubeletEndpoint: { Port: 1 } } };
  await api.create("/api/v1/nodes", { apiVersion: "v1", kind: "Node", metadata: { name }, status });

  // Nothing listens there.
  expect((await api.get(`/api/v1/nodes/${name}/proxy/healthz`)).status).toBe(perServer({ embedded: 503, "kube-apiserver": 400 }));
  await api.delete(`/api/v1/nodes/${name}`);
  await api.create(`${core}/pods`, podNamed("local", { nodeName: "n1" }));
  await api.patch("merge", `${core}/pods/local/status`, { status: { podIP: "127.0.0.1", podIPs: [{ ip: "127.0.0.1" }] } });
  expect((await api.get(`${core}/pods/local:1/proxy/healthz`)).status).toBe(perServer({ embedded: 503, "kube-apiserver": 400 }));
});

/** Whether a group or path belongs to custom resources of other tests, some of them in groups of Kubernetes. */
const isOfTheSuite = (text: string): boolean => /\.example\.com|parity-/.test(text);

test("every resource of the real server is described", async ({ api }) => {
  const accept = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
  const described: string[] = [];
  for (const root of ["/api", "/apis"]) {
    for (const group of (await api.get(root, { accept })).body.items) {
      if (isOfTheSuite(String(group.metadata.name ?? ""))) continue;
      for (const { version, resources } of group.versions) {
        const groupVersion = [group.metadata.name, version].filter(Boolean).join("/");
        for (const { resource, subresources = [] } of resources)
          described.push(
            ...["", ...subresources.map(({ subresource }: { subresource: string }) => `/${subresource}`)].map(
              (suffix) => `${groupVersion} ${resource}${suffix}`,
            ),
          );
      }
    }
  }

  expect(described.toSorted()).toMatchSnapshot();
});

/** Paths besides resources that the real server answers and the embedded one does not. */
const absentPaths: readonly string[] = ["/debug/pprof/", "/flagz", "/metrics", "/metrics/slis", "/statusz"];

test("every path that the real server lists is answered, except those of the list", async ({ api }) => {
  const listed: readonly string[] = (await api.get("/")).body.paths;
  // The real server lists its own parts as single checks of health, and one path that it answers with 404.
  const isPart = (path: string): boolean => /^\/(healthz|livez|readyz)\/./.test(path) || path === "/openapi/v3/";
  const wanted = new Set([...listed.filter((path) => !isPart(path) && !isOfTheSuite(path)), ...absentPaths]);
  const answered: string[] = [];
  for (const path of [...wanted, "/openapi/v2"]) if ((await api.get(path)).status === 200) answered.push(path);

  const absent = perServer({ embedded: absentPaths, "kube-apiserver": [] });
  expect(absent.filter((path) => answered.includes(path))).toEqual([]);
  expect([...new Set([...answered, ...absent])].filter((path) => !isOfTheSuite(path)).toSorted()).toMatchSnapshot();
});

difference("The list of paths at `/`", async ({ api }) => {
  const { paths }: { paths: readonly string[] } = (await api.get("/")).body;

  expect(paths).toEqual(expect.arrayContaining(["/apis/apps", "/apis/apps/v1", "/livez/ping", "/readyz/informer-sync"]));
  expect(paths.some((path) => path.includes("/poststarthook/"))).toBe(perServer({ embedded: false, "kube-apiserver": true }));
});

const crds = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

/** A definition whose spec has this schema. */
const things = (group: string, spec: object, more: object = {}): object => ({
  metadata: { name: `things.${group}` },
  spec: {
    group,
    scope: "Cluster",
    names: { plural: "things", kind: "Thing" },
    versions: [{ name: "v1", served: true, storage: true, schema: { openAPIV3Schema: { type: "object", properties: { spec } } } }],
    ...more,
  },
});

difference("Syntax errors of CEL expressions", async ({ api, namespace }) => {
  const spec = { type: "object", properties: { a: { type: "string" } }, "x-kubernetes-validations": [{ rule: "self.a == 'x" }] };
  const { status, body } = await api.post(`${crds}?dryRun=All`, things(`${namespace}.example.com`, spec));

  expect(status).toBe(422);
  expect(body.message).toContain("compilation failed: ERROR: <input>:1:11: Syntax error: ");
  expect(body.message.includes("token recognition error")).toBe(perServer({ embedded: false, "kube-apiserver": true }));
});

difference("The Lease of the API server in `kube-system`", async ({ api }) => {
  const { items } = (await api.get("/apis/coordination.k8s.io/v1/namespaces/kube-system/leases")).body;

  expect(items.some(({ metadata }: { metadata: { name: string } }) => metadata.name.startsWith("apiserver-"))).toBe(
    perServer({ embedded: false, "kube-apiserver": true }),
  );
});

difference("Service accounts of the controllers in `kube-system`", async ({ api }) => {
  expect((await api.get("/api/v1/namespaces/kube-system/serviceaccounts/job-controller")).status).toBe(
    perServer({ embedded: 404, "kube-apiserver": 200 }),
  );
});

difference("OpenAPI documents: parameters, descriptions of actions, paths of old watches", async ({ api }) => {
  const { paths } = (await api.get("/openapi/v2")).body;
  const list = paths["/api/v1/namespaces/{namespace}/pods"].get;

  expect(list.description).toBe(perServer({ embedded: undefined, "kube-apiserver": "list or watch objects of kind Pod" }));
  expect(list.parameters.length > 4).toBe(perServer({ embedded: false, "kube-apiserver": true }));
  expect("/api/v1/watch/pods" in paths).toBe(perServer({ embedded: false, "kube-apiserver": true }));
});

difference("`/statusz`, `/flagz`, `/metrics`, `/metrics/slis`, `/debug/…`", async ({ api }) => {
  for (const path of ["/statusz", "/flagz", "/metrics", "/metrics/slis", "/debug/pprof/"])
    expect((await api.get(path)).status, path).toBe(perServer({ embedded: 404, "kube-apiserver": 200 }));
});

difference("HTTP methods Node.js does not know", async ({ api, core }) => {
  expect((await api.request("SPARKLE", `${core}/configmaps`)).status).toBe(perServer({ embedded: 400, "kube-apiserver": 405 }));
});

difference("Headers `audit-id` and `x-kubernetes-pf-*`", async ({ api, core }) => {
  const { headers } = await api.get(`${core}/configmaps`);
  const ours = Object.keys(headers).filter((name) => name === "audit-id" || name.startsWith("x-kubernetes-pf-"));

  expect(ours).toHaveLength(perServer({ embedded: 0, "kube-apiserver": 3 }));
});

difference("A `resourceVersion` in the future", async ({ api, core }) => {
  const tookMs: number[] = [];
  for (let attempt = 0; attempt < 3; attempt++) {
    const startedMs = Date.now();
    const { status } = await api.get(`${core}/secrets?resourceVersion=999999999`);
    tookMs.push(Date.now() - startedMs);

    expect(status).toBe(504);
  }
  // On a busy machine even a request that does not wait may be slow; the real server always waits.
  expect(Math.min(...tookMs) > 2500).toBe(perServer({ embedded: false, "kube-apiserver": true }));
});

difference("Named types in type errors, such as `v1.DeploymentStrategyType`", async ({ api, apps }) => {
  await api.create(`${apps}/deployments`, {
    metadata: { name: "a" },
    spec: { selector: { matchLabels: { a: "b" } }, template: templateOf({ a: "b" }) },
  });
  const { body } = await api.patch("merge", `${apps}/deployments/a`, { spec: { strategy: { type: 5 } } });

  expect(body.message).toMatch(perServer({ embedded: /of type string$/, "kube-apiserver": /of type v1\.DeploymentStrategyType$/ }));
});

difference("The diff in a 422 for an update of a pod, claim or volume", async ({ api, core }) => {
  const pod = await api.create(`${core}/pods`, podNamed("web"));
  const { body } = await api.put(`${core}/pods/web`, {
    ...pod,
    spec: { ...pod.spec, containers: [{ ...pod.spec.containers[0], command: ["sh"] }] },
  });

  expect(body.message).toMatch(perServer({ embedded: /\n\+ {3}"command": \[\n/, "kube-apiserver": /\n\+ {3}"Command": \[\n/ }));
});

difference("Descriptions of a few table columns", async ({ api }) => {
  const { body } = await api.get("/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", {
    accept: "application/json;as=Table;v=v1;g=meta.k8s.io",
  });

  expect(body.columnDefinitions[1].description).toMatch(
    perServer({
      embedded: /^RoleRef can reference a Role in the current namespace/,
      "kube-apiserver": /^RoleRef can only reference a ClusterRole/,
    }),
  );
});

difference("`pod-template-hash`, and the hash of a DaemonSet's revision", async ({ api, apps }) => {
  await api.create(`${apps}/deployments`, {
    metadata: { name: "web" },
    spec: {
      replicas: 0,
      selector: { matchLabels: { app: "web" } },
      template: { metadata: { labels: { app: "web" } }, spec: { containers: [{ name: "main", image: "main:1" }] } },
    },
  });
  const hash = await eventually(async () => {
    const [replicaSet] = (await api.get(`${apps}/replicasets`)).body.items;
    return replicaSet.metadata.labels["pod-template-hash"];
  });

  expect(hash).toMatch(/^[bcdfghjklmnpqrstvwxz2456789]{6,10}$/);
  expect(hash === hashOfRealServer).toBe(perServer({ embedded: false, "kube-apiserver": true }));
});

/** Hash that kube-controller-manager v1.36.3 computes for the template above. */
const hashOfRealServer = "7b8b74dc79";

difference("A token whose pod is gone", async ({ api, core }) => {
  const pod = await api.create(`${core}/pods`, podNamed("web"));
  const boundObjectRef = { apiVersion: "v1", kind: "Pod", name: "web", uid: pod.metadata.uid };
  const { status } = await api.create(`${core}/serviceaccounts/default/token`, { spec: { boundObjectRef } });
  using robot = api.withToken(status.token);
  expect((await robot.get("/version")).status).toBe(200);
  await api.delete(`${core}/pods/web`, { gracePeriodSeconds: 0 });

  // The real server caches a token review for ten seconds.
  expect((await robot.get("/version")).status).toBe(perServer({ embedded: 401, "kube-apiserver": 200 }));
});
