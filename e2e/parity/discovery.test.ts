import { eventually } from "@virtual-kubelet/testing";
import { expect } from "vitest";
import type { Api } from "./support/api.ts";
import { perServer, test } from "./support/parity-test.ts";

interface Resource {
  readonly name: string;
  readonly verbs: readonly string[];
}

/** Groups that the embedded server serves, with their resources. */
const claimed: Readonly<Record<string, readonly string[]>> = {
  "/api/v1": [
    "bindings",
    "componentstatuses",
    "configmaps",
    "events",
    "namespaces",
    "namespaces/finalize",
    "namespaces/status",
    "nodes",
    "nodes/proxy",
    "nodes/status",
    "persistentvolumeclaims",
    "persistentvolumeclaims/status",
    "persistentvolumes",
    "persistentvolumes/status",
    "pods",
    "pods/attach",
    "pods/binding",
    "pods/ephemeralcontainers",
    "pods/eviction",
    "pods/exec",
    "pods/log",
    "pods/portforward",
    "pods/resize",
    "pods/status",
    "podtemplates",
    "replicationcontrollers",
    "replicationcontrollers/scale",
    "replicationcontrollers/status",
    "secrets",
    "serviceaccounts",
    "serviceaccounts/token",
    "services",
    "services/status",
  ],
  "/apis/apps/v1": [
    "controllerrevisions",
    "daemonsets",
    "daemonsets/status",
    "deployments",
    "deployments/scale",
    "deployments/status",
    "replicasets",
    "replicasets/scale",
    "replicasets/status",
    "statefulsets",
    "statefulsets/scale",
    "statefulsets/status",
  ],
  "/apis/batch/v1": ["cronjobs", "cronjobs/status", "jobs", "jobs/status"],
  "/apis/coordination.k8s.io/v1": ["leases"],
  "/apis/policy/v1": ["poddisruptionbudgets", "poddisruptionbudgets/status"],
};

/** Further resources of the real server in the same groups. */
const realOnly: readonly string[] = [
  ...["endpoints", "limitranges"],
  ...["pods/proxy", "resourcequotas", "resourcequotas/status", "services/proxy"],
].map((name) => `/api/v1 ${name}`);

async function resourcesOf(api: Api, path: string): Promise<readonly Resource[]> {
  return (await api.get(path)).body.resources;
}

test("each claimed resource is described with its names, verbs and categories", async ({ api }) => {
  for (const [path, names] of Object.entries(claimed)) {
    const resources = await resourcesOf(api, path);
    const described = names.map((name) => resources.find((resource) => resource.name === name) ?? `${name} is missing`);

    // A hash of the storage format, which is not part of the API.
    expect(described.map((each) => (typeof each === "string" ? each : { ...each, storageVersionHash: undefined }))).toMatchSnapshot(path);
  }
});

test("every other described resource exists on the real server", async ({ api }) => {
  const described = await Promise.all(
    Object.keys(claimed).map(async (path) => (await resourcesOf(api, path)).map(({ name }) => `${path} ${name}`)),
  );
  const beyond = described
    .flat()
    .filter((entry) => !Object.entries(claimed).some(([path, names]) => names.some((name) => `${path} ${name}` === entry)));

  expect(realOnly).toEqual(expect.arrayContaining(beyond));
});

test("a resource list has a kind and a version", async ({ api }) => {
  const { resources: core, ...coreList } = (await api.get("/api/v1")).body;
  const { resources: apps, ...appsList } = (await api.get("/apis/apps/v1")).body;

  expect([coreList, appsList]).toMatchInlineSnapshot(
    `[{groupVersion: "v1", kind: "APIResourceList"}, {apiVersion: "v1", groupVersion: "apps/v1", kind: "APIResourceList"}]`,
  );
  expect([core.length > 0, apps.length > 0]).toEqual([true, true]);
});

test("/api names the version v1", async ({ api }) => {
  const { kind, versions, serverAddressByClientCIDRs } = (await api.get("/api")).body;

  expect([kind, versions]).toEqual(["APIVersions", ["v1"]]);
  expect(serverAddressByClientCIDRs).toEqual([{ clientCIDR: "0.0.0.0/0", serverAddress: expect.stringMatching(/:\d+$/) }]);
});

test("/apis names each group with its preferred version", async ({ api }) => {
  const { groups, ...list } = (await api.get("/apis")).body;

  expect(list).toMatchInlineSnapshot(`{apiVersion: "v1", kind: "APIGroupList"}`);
  for (const name of ["apps", "batch", "coordination.k8s.io", "policy", "authentication.k8s.io", "authorization.k8s.io"])
    expect(groups.find((group: { name: string }) => group.name === name)).toMatchSnapshot(name);
});

test("a group is described at its own path", async ({ api }) => {
  expect(await api.get("/apis/apps")).toMatchInlineSnapshot(`
    200 {
      apiVersion: "v1",
      kind: "APIGroup",
      name: "apps",
      preferredVersion: {groupVersion: "apps/v1", version: "v1"},
      versions: [{groupVersion: "apps/v1", version: "v1"}],
    }
  `);
  expect(await api.get("/apis/nothing.example.com")).toMatchInlineSnapshot(`404 "404 page not found\\nDIFFERENCE"`);
});

test("aggregated discovery describes the claimed resources the same way", async ({ api }) => {
  const accept = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
  for (const root of ["/api", "/apis"]) {
    const answer = await api.get(root, { accept });
    expect(answer.headers["content-type"]).toBe(accept);
    expect([answer.body.kind, answer.body.apiVersion]).toEqual(["APIGroupDiscoveryList", "apidiscovery.k8s.io/v2"]);
    for (const group of answer.body.items) {
      for (const version of group.versions) {
        const path = root === "/api" ? `/api/${version.version}` : `/apis/${group.metadata.name}/${version.version}`;
        const names = claimed[path];
        if (names === undefined) continue;
        const found = version.resources
          .filter(({ resource }: { resource: string }) => names.includes(resource))
          .map((resource: { subresources?: readonly { subresource: string }[]; resource: string }) => ({
            ...resource,
            subresources: resource.subresources
              ?.filter(({ subresource }) => names.includes(`${resource.resource}/${subresource}`))
              .toSorted((a, b) => (a.subresource < b.subresource ? -1 : 1)),
          }))
          .toSorted((a: { resource: string }, b: { resource: string }) => (a.resource < b.resource ? -1 : 1));

        expect({ freshness: version.freshness, resources: found }).toMatchSnapshot(path);
      }
    }
  }
});

test("OpenAPI v3 has an index with a hash and a document for each group", async ({ api }) => {
  const { body } = await api.get("/openapi/v3");
  for (const path of Object.keys(claimed)) {
    const { serverRelativeURL } = body.paths[path.slice(1)];
    expect(serverRelativeURL).toMatch(new RegExp(`^/openapi/v3${path}\\?hash=[0-9A-F]+$`));
    const document = await api.get(serverRelativeURL);
    expect(document.status).toBe(200);
    expect(document.headers["cache-control"]).toBe("public, immutable");
    expect(document.body.openapi).toBe("3.0.0");
  }
});

test("OpenAPI v3 describes a pod with the fields and merge keys that kubectl needs", async ({ api }) => {
  const { body } = await api.get("/openapi/v3/api/v1");
  const { description: _text, ...containers } = body.components.schemas["io.k8s.api.core.v1.PodSpec"].properties.containers;

  expect(containers).toMatchInlineSnapshot(`
    {
      items: {allOf: [{$ref: "#/components/schemas/io.k8s.api.core.v1.Container"}], default: {}},
      type: "array",
      x-kubernetes-list-map-keys: ["name"],
      x-kubernetes-list-type: "map",
      x-kubernetes-patch-merge-key: "name",
      x-kubernetes-patch-strategy: "merge",
    }
  `);
  expect(body.components.schemas["io.k8s.api.core.v1.Pod"]["x-kubernetes-group-version-kind"]).toEqual([
    { group: "", kind: "Pod", version: "v1" },
  ]);
});

test("the version endpoint reports the supported version", async ({ api }) => {
  const { body } = await api.get("/version");

  expect([body.major, body.minor]).toEqual(["1", "36"]);
  expect(Object.keys(body).toSorted()).toMatchInlineSnapshot(`
    [
      "buildDate",
      "compiler",
      "emulationMajor",
      "emulationMinor",
      "gitCommit",
      "gitTreeState",
      "gitVersion",
      "goVersion",
      "major",
      "minCompatibilityMajor",
      "minCompatibilityMinor",
      "minor",
      "platform",
    ]
  `);
  expect(body.gitVersion).toMatch(perServer({ embedded: /^v1\.36\.\d+-embedded$/, "kube-apiserver": /^v1\.36\.\d+$/ }));
});

test("aggregated discovery is not sent again to a client that has it", async ({ api }) => {
  const accept = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
  // Groups that other files create and remove on the same server change the document.
  const [first, again] = await eventually(async () => {
    const before = await api.get("/apis", { accept });
    const after = await api.get("/apis", { accept, "if-none-match": String(before.headers.etag) });
    expect(after.status).toBe(304);
    return [before, after] as const;
  });
  const other = await api.get("/apis", { accept, "if-none-match": '"other"' });

  expect(first.headers).toMatchObject({ etag: expect.stringMatching(/^"[0-9A-F]{128}"$/), vary: "Accept" });
  expect([again.status, again.body, again.headers.etag]).toEqual([304, "", first.headers.etag]);
  expect(other.status).toBe(200);
});

test("stored resources have the hash of their storage version", async ({ api }) => {
  const hashes = async (path: string): Promise<object> => {
    const { resources } = (await api.get(path)).body as { resources: { name: string; storageVersionHash?: string }[] };
    return Object.fromEntries(resources.map(({ name, storageVersionHash = "" }) => [name, storageVersionHash]));
  };

  expect(await hashes("/api/v1")).toMatchObject({ pods: "xPOwRZ+Yhw8=", "pods/status": "", bindings: "", events: "r2yiGXH7wu8=" });
  expect(await hashes("/apis/events.k8s.io/v1")).toEqual({ events: "r2yiGXH7wu8=" });
  expect(await hashes("/apis/autoscaling/v1")).toMatchObject({ horizontalpodautoscalers: "qwQve8ut294=" });
  expect(await hashes("/apis/apiextensions.k8s.io/v1")).toMatchObject({ customresourcedefinitions: "jfWCUB31mvA=" });
  expect(await hashes("/apis/admissionregistration.k8s.io/v1")).toMatchObject({ mutatingadmissionpolicies: "LYmCf+UMVdg=" });
});

test("the name of a field manager is limited", async ({ api, core }) => {
  const post = async (name: string): Promise<unknown> => {
    const { status, body } = await api.post(`${core}/configmaps?dryRun=All&fieldManager=${encodeURIComponent(name)}`, {
      metadata: { name: "a" },
    });
    return [status, body.message];
  };

  expect(await post("a".repeat(128))).toEqual([201, undefined]);
  expect(await post("a".repeat(129))).toEqual([
    422,
    'CreateOptions.meta.k8s.io "" is invalid: fieldManager: Too long: may not be more than 128 bytes',
  ]);
  expect(await post("a\u0001b")).toEqual([
    422,
    'CreateOptions.meta.k8s.io "" is invalid: fieldManager: Invalid value: "a\\x01b": invalid character U+0001 (at position 1)',
  ]);
});
