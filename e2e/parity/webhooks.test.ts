import { eventually } from "@virtual-kubelet/testing";
import { expect } from "vitest";
import { allow, deny, patch } from "../../packages/embedded-apiserver/src/test-support/webhook-server.ts";
import { configMapNamed, podNamed } from "./support/objects.ts";
import { test } from "./support/parity-test.ts";
import { waitForCache } from "./support/watch-cache.ts";
import { messageOf, Webhooks } from "./support/webhooks.ts";

// Objects of the cluster have no namespace that a selector could name, and other files create some on the same server.
const everything = [{ operations: ["*"], apiGroups: ["*"], apiVersions: ["*"], resources: ["*/*"], scope: "Namespaced" }];

test("reviews of creations, updates and deletions", async ({ api, namespace, core }) => {
  await using hooks = await Webhooks.start(api, namespace, { "/": allow() });
  await hooks.configure("Mutating", "all", { rules: everything });
  await api.post(`${core}/configmaps?fieldManager=me&fieldValidation=Strict`, configMapNamed("a", { color: "red" }));
  // A server that tries a write on an older object from its cache asks the webhooks again for the next try.
  await waitForCache(api, `${core}/configmaps`);
  await api.request("PATCH", `${core}/configmaps/a?fieldManager=me`, {
    body: { data: { color: "blue" } },
    headers: { "content-type": "application/merge-patch+json" },
  });
  await waitForCache(api, `${core}/configmaps`);
  await api.put(`${core}/configmaps/a?dryRun=All`, configMapNamed("a", { color: "green" }));
  await api.delete(`${core}/configmaps/a`, { propagationPolicy: "Background", gracePeriodSeconds: 2 });
  await api.post(`${core}/configmaps`, { metadata: { generateName: "b-" } });
  await api.delete(`${core}/configmaps?labelSelector=none`);
  expect(hooks.requests()).toMatchInlineSnapshot(`
    [
      {
        dryRun: false,
        kind: {group: "", kind: "ConfigMap", version: "v1"},
        name: "a",
        namespace: "NAMESPACE",
        object: {apiVersion: "v1", data: {color: "red"}, kind: "ConfigMap", metadata: {name: "a", namespace: "NAMESPACE"}},
        oldObject: null,
        operation: "CREATE",
        options: {apiVersion: "meta.k8s.io/v1", fieldManager: "me", fieldValidation: "Strict", kind: "CreateOptions"},
        requestKind: {group: "", kind: "ConfigMap", version: "v1"},
        requestResource: {group: "", resource: "configmaps", version: "v1"},
        resource: {group: "", resource: "configmaps", version: "v1"},
      },
      {
        dryRun: false,
        kind: {group: "", kind: "ConfigMap", version: "v1"},
        name: "a",
        namespace: "NAMESPACE",
        object: {apiVersion: "v1", data: {color: "blue"}, kind: "ConfigMap", metadata: {name: "a", namespace: "NAMESPACE"}},
        oldObject: {apiVersion: "v1", data: {color: "red"}, kind: "ConfigMap", metadata: {name: "a", namespace: "NAMESPACE"}},
        operation: "UPDATE",
        options: {apiVersion: "meta.k8s.io/v1", fieldManager: "me", kind: "UpdateOptions"},
        requestKind: {group: "", kind: "ConfigMap", version: "v1"},
        requestResource: {group: "", resource: "configmaps", version: "v1"},
        resource: {group: "", resource: "configmaps", version: "v1"},
      },
      {
        dryRun: true,
        kind: {group: "", kind: "ConfigMap", version: "v1"},
        name: "a",
        namespace: "NAMESPACE",
        object: {apiVersion: "v1", data: {color: "green"}, kind: "ConfigMap", metadata: {name: "a", namespace: "NAMESPACE"}},
        oldObject: {apiVersion: "v1", data: {color: "blue"}, kind: "ConfigMap", metadata: {name: "a", namespace: "NAMESPACE"}},
        operation: "UPDATE",
        options: {apiVersion: "meta.k8s.io/v1", dryRun: ["All"], kind: "UpdateOptions"},
        requestKind: {group: "", kind: "ConfigMap", version: "v1"},
        requestResource: {group: "", resource: "configmaps", version: "v1"},
        resource: {group: "", resource: "configmaps", version: "v1"},
      },
      {
        dryRun: false,
        kind: {group: "", kind: "ConfigMap", version: "v1"},
        name: "a",
        namespace: "NAMESPACE",
        object: null,
        oldObject: {apiVersion: "v1", data: {color: "blue"}, kind: "ConfigMap", metadata: {name: "a", namespace: "NAMESPACE"}},
        operation: "DELETE",
        options: {apiVersion: "meta.k8s.io/v1", gracePeriodSeconds: 2, kind: "DeleteOptions", propagationPolicy: "Background"},
        requestKind: {group: "", kind: "ConfigMap", version: "v1"},
        requestResource: {group: "", resource: "configmaps", version: "v1"},
        resource: {group: "", resource: "configmaps", version: "v1"},
      },
      {
        dryRun: false,
        kind: {group: "", kind: "ConfigMap", version: "v1"},
        namespace: "NAMESPACE",
        object: {apiVersion: "v1", kind: "ConfigMap", metadata: {generateName: "b-", namespace: "NAMESPACE"}},
        oldObject: null,
        operation: "CREATE",
        options: {apiVersion: "meta.k8s.io/v1", kind: "CreateOptions"},
        requestKind: {group: "", kind: "ConfigMap", version: "v1"},
        requestResource: {group: "", resource: "configmaps", version: "v1"},
        resource: {group: "", resource: "configmaps", version: "v1"},
      },
    ]
  `);
});

test("reviews of an older version", async ({ api, namespace, core }) => {
  await using hooks = await Webhooks.start(api, namespace, { "/": allow() });
  await hooks.configure("Validating", "all", { admissionReviewVersions: ["v2", "v1beta1", "v1"] });
  await api.post(`${core}/configmaps`, configMapNamed("a"));
  const [review] = hooks.reviews("/");
  expect([review.kind, review.apiVersion]).toEqual(["AdmissionReview", "admission.k8s.io/v1beta1"]);
});

test("reviews of a pod's subresources", async ({ api, namespace, core }) => {
  await api.create(`${core}/pods`, podNamed("web"));
  await using hooks = await Webhooks.start(api, namespace, { "/": allow() });
  await hooks.configure("Validating", "all", { rules: everything });
  const meta = { name: "web" };
  await api.post(`${core}/pods/web/binding`, { metadata: meta, target: { kind: "Node", name: "n1" } });
  await waitForCache(api, `${core}/pods`);
  await api.patch("merge", `${core}/pods/web/status`, { status: { phase: "Running" } });
  await waitForCache(api, `${core}/pods`);
  await api.post(`${core}/pods/web/exec?container=main&command=a&command=b&stdout=true&tty=true`);
  await api.post(`${core}/pods/web/portforward?ports=80`);
  await api.get(`${core}/pods/web/attach?stdin=true`);
  await api.patch("strategic", `${core}/pods/web/ephemeralcontainers`, {
    spec: { ephemeralContainers: [{ name: "debug", image: "debug:1", terminationMessagePolicy: "File", imagePullPolicy: "Always" }] },
  });
  await api.post(`${core}/pods/web/eviction`, { metadata: meta, deleteOptions: { gracePeriodSeconds: 0 } });
  await api.post(`${core}/serviceaccounts/default/token`, { spec: { audiences: ["me"] } });
  const requests = hooks.requests() as { object: { spec?: unknown; status?: unknown; kind: string } | null; oldObject: unknown }[];
  // Pods are long, and compared elsewhere.
  const short = requests.map(({ object, oldObject, ...rest }) => ({
    ...rest,
    object: object?.kind === "Pod" ? "pod" : object,
    old: oldObject !== null,
  }));
  expect(short).toMatchInlineSnapshot(`
    [
      {
        dryRun: false,
        kind: {group: "", kind: "Binding", version: "v1"},
        name: "web",
        namespace: "NAMESPACE",
        object: {apiVersion: "v1", kind: "Binding", metadata: {name: "web", namespace: "NAMESPACE"}, target: {kind: "Node", name: "n1"}},
        old: false,
        operation: "CREATE",
        options: {apiVersion: "meta.k8s.io/v1", kind: "CreateOptions"},
        requestKind: {group: "", kind: "Binding", version: "v1"},
        requestResource: {group: "", resource: "pods", version: "v1"},
        requestSubResource: "binding",
        resource: {group: "", resource: "pods", version: "v1"},
        subResource: "binding",
      },
      {
        dryRun: false,
        kind: {group: "", kind: "Pod", version: "v1"},
        name: "web",
        namespace: "NAMESPACE",
        object: "pod",
        old: true,
        operation: "UPDATE",
        options: {apiVersion: "meta.k8s.io/v1", kind: "UpdateOptions"},
        requestKind: {group: "", kind: "Pod", version: "v1"},
        requestResource: {group: "", resource: "pods", version: "v1"},
        requestSubResource: "status",
        resource: {group: "", resource: "pods", version: "v1"},
        subResource: "status",
      },
      {
        dryRun: false,
        kind: {group: "", kind: "PodExecOptions", version: "v1"},
        name: "web",
        namespace: "NAMESPACE",
        object: {apiVersion: "v1", command: ["a", "b"], container: "main", kind: "PodExecOptions", stdout: true, tty: true},
        old: false,
        operation: "CONNECT",
        options: null,
        requestKind: {group: "", kind: "PodExecOptions", version: "v1"},
        requestResource: {group: "", resource: "pods", version: "v1"},
        requestSubResource: "exec",
        resource: {group: "", resource: "pods", version: "v1"},
        subResource: "exec",
      },
      {
        dryRun: false,
        kind: {group: "", kind: "PodPortForwardOptions", version: "v1"},
        name: "web",
        namespace: "NAMESPACE",
        object: {apiVersion: "v1", kind: "PodPortForwardOptions", ports: [80]},
        old: false,
        operation: "CONNECT",
        options: null,
        requestKind: {group: "", kind: "PodPortForwardOptions", version: "v1"},
        requestResource: {group: "", resource: "pods", version: "v1"},
        requestSubResource: "portforward",
        resource: {group: "", resource: "pods", version: "v1"},
        subResource: "portforward",
      },
      {
        dryRun: false,
        kind: {group: "", kind: "PodAttachOptions", version: "v1"},
        name: "web",
        namespace: "NAMESPACE",
        object: {apiVersion: "v1", kind: "PodAttachOptions", stdin: true},
        old: false,
        operation: "CONNECT",
        options: null,
        requestKind: {group: "", kind: "PodAttachOptions", version: "v1"},
        requestResource: {group: "", resource: "pods", version: "v1"},
        requestSubResource: "attach",
        resource: {group: "", resource: "pods", version: "v1"},
        subResource: "attach",
      },
      {
        dryRun: false,
        kind: {group: "", kind: "Pod", version: "v1"},
        name: "web",
        namespace: "NAMESPACE",
        object: "pod",
        old: true,
        operation: "UPDATE",
        options: {apiVersion: "meta.k8s.io/v1", kind: "UpdateOptions"},
        requestKind: {group: "", kind: "Pod", version: "v1"},
        requestResource: {group: "", resource: "pods", version: "v1"},
        requestSubResource: "ephemeralcontainers",
        resource: {group: "", resource: "pods", version: "v1"},
        subResource: "ephemeralcontainers",
      },
      {
        dryRun: false,
        kind: {group: "policy", kind: "Eviction", version: "v1"},
        name: "web",
        namespace: "NAMESPACE",
        object: {
          apiVersion: "policy/v1",
          deleteOptions: {gracePeriodSeconds: 0},
          kind: "Eviction",
          metadata: {name: "web", namespace: "NAMESPACE"},
        },
        old: false,
        operation: "CREATE",
        options: {apiVersion: "meta.k8s.io/v1", kind: "CreateOptions"},
        requestKind: {group: "policy", kind: "Eviction", version: "v1"},
        requestResource: {group: "", resource: "pods", version: "v1"},
        requestSubResource: "eviction",
        resource: {group: "", resource: "pods", version: "v1"},
        subResource: "eviction",
      },
      {
        dryRun: false,
        kind: {group: "authentication.k8s.io", kind: "TokenRequest", version: "v1"},
        name: "default",
        namespace: "NAMESPACE",
        object: {
          apiVersion: "authentication.k8s.io/v1",
          kind: "TokenRequest",
          metadata: {name: "default", namespace: "NAMESPACE"},
          spec: {audiences: ["me"], boundObjectRef: null, expirationSeconds: 3600},
          status: {expirationTimestamp: null, token: ""},
        },
        old: false,
        operation: "CREATE",
        options: {apiVersion: "meta.k8s.io/v1", kind: "CreateOptions"},
        requestKind: {group: "authentication.k8s.io", kind: "TokenRequest", version: "v1"},
        requestResource: {group: "", resource: "serviceaccounts", version: "v1"},
        requestSubResource: "token",
        resource: {group: "", resource: "serviceaccounts", version: "v1"},
        subResource: "token",
      },
    ]
  `);
});

test("reviews of a scale", async ({ api, namespace, apps }) => {
  await api.create(`${apps}/replicasets`, {
    metadata: { name: "web" },
    spec: {
      replicas: 0,
      selector: { matchLabels: { app: "web" } },
      template: { metadata: { labels: { app: "web" } }, spec: podNamed("x").spec },
    },
  });
  await using hooks = await Webhooks.start(api, namespace, { "/": patch([{ op: "replace", path: "/spec/replicas", value: 2 }]) });
  const rules = [{ operations: ["UPDATE"], apiGroups: ["apps"], apiVersions: ["v1"], resources: ["replicasets/scale"] }];
  await hooks.configure("Mutating", "scale", { rules });
  // The controller has written its status, and the server's cache has that: otherwise a second try would be reviewed, too.
  await eventually(async () => expect((await api.get(`${apps}/replicasets/web`)).body.status.observedGeneration).toBe(1));
  await waitForCache(api, `${apps}/replicasets`);
  const scaled = await api.patch("merge", `${apps}/replicasets/web/scale`, { spec: { replicas: 1 } });
  expect(scaled.body.spec).toEqual({ replicas: 2 });
  expect(hooks.requests()).toMatchInlineSnapshot(`
    [
      {
        dryRun: false,
        kind: {group: "autoscaling", kind: "Scale", version: "v1"},
        name: "web",
        namespace: "NAMESPACE",
        object: {
          apiVersion: "autoscaling/v1",
          kind: "Scale",
          metadata: {name: "web", namespace: "NAMESPACE"},
          spec: {replicas: 1},
          status: {replicas: 0, selector: "app=web"},
        },
        oldObject: {
          apiVersion: "autoscaling/v1",
          kind: "Scale",
          metadata: {name: "web", namespace: "NAMESPACE"},
          spec: {},
          status: {replicas: 0, selector: "app=web"},
        },
        operation: "UPDATE",
        options: {apiVersion: "meta.k8s.io/v1", kind: "UpdateOptions"},
        requestKind: {group: "autoscaling", kind: "Scale", version: "v1"},
        requestResource: {group: "apps", resource: "replicasets", version: "v1"},
        requestSubResource: "scale",
        resource: {group: "apps", resource: "replicasets", version: "v1"},
        subResource: "scale",
      },
    ]
  `);
});

test.for([
  ["no status", undefined],
  ["a message", { message: "because" }],
  ["a reason and a code", { reason: "Conflict", code: 409 }],
  ["a code below 400", { message: "because", code: 200, status: "Success" }],
] as const)("a denial with %s", async ([, status], { api, namespace, core }) => {
  await using hooks = await Webhooks.start(api, namespace, { "/": deny(status) });
  await hooks.configure("Mutating", "no", {});
  const { body } = await api.post(`${core}/configmaps`, configMapNamed("a"));
  expect(body).toMatchSnapshot();
});

test.for([
  ["no response", () => ({ kind: "AdmissionReview", apiVersion: "admission.k8s.io/v1" })],
  [
    "another uid",
    ({ request: _ }: { request: unknown }) => allow()({ apiVersion: "admission.k8s.io/v1", request: { uid: "x" } }) as object,
  ],
  ["another version", (review: { request: unknown }) => allow()({ ...review, apiVersion: "admission.k8s.io/v1beta1" })],
  ["a patch without a type", allow({ patch: "W10=" })],
  ["a type without a patch", allow({ patchType: "JSONPatch" })],
  [
    "an unknown type of patch",
    allow({ patchType: "Other", patch: Buffer.from('[{"op":"add","path":"/data","value":{}}]').toString("base64") }),
  ],
  ["a patch that is not JSON", allow({ patchType: "JSONPatch", patch: Buffer.from("{}").toString("base64") })],
  ["no kind", () => ({ response: {} })],
  ["404", () => 404],
  ["500", () => 500],
  ["503", () => 503],
  ["302", () => 302],
] as const)("an answer with %s", async ([name, answer], { api, namespace, core }) => {
  await using hooks = await Webhooks.start(api, namespace, { "/": answer });
  await hooks.configure("Mutating", "bad", {});
  const refused = await api.post(`${core}/configmaps`, configMapNamed("a"));
  const message = messageOf(refused, hooks).replace(/uid="[0-9a-f-]{36}"/, 'uid="UID"');
  expect([name, message, refused.body.reason]).toMatchSnapshot();
});

test.for([
  ["a path that does not exist", [{ op: "add", path: "/x/y", value: 1 }]],
  ["the removal of nothing", [{ op: "remove", path: "/data/x" }]],
  ["the replacement of nothing", [{ op: "replace", path: "/data/x", value: "1" }]],
  ["a failed test", [{ op: "test", path: "/data/a", value: "2" }]],
  ["an unknown operation", [{ op: "change", path: "/data/a", value: "2" }]],
  ["a wrong type", [{ op: "add", path: "/data/a", value: 1 }]],
  ["an unknown field", [{ op: "add", path: "/unknown", value: 1 }]],
  ["an invalid value", [{ op: "add", path: "/data/a~1b", value: "x" }]],
  ["another name", [{ op: "replace", path: "/metadata/name", value: "other" }]],
  ["the copy of nothing", [{ op: "copy", from: "/data/none", path: "/data/x" }]],
] as const)("a patch with %s", async ([, operations], { api, namespace, core }) => {
  await using hooks = await Webhooks.start(api, namespace, { "/": patch(operations) });
  await hooks.configure("Mutating", "patch", {});
  const { status, body } = await api.post(`${core}/configmaps`, configMapNamed("a", { a: "1" }));
  const { name } = body.metadata;
  expect(status === 201 ? [status, name, body.data] : [status, body.message, body.reason]).toMatchSnapshot();
});

test("a webhook that cannot be reached", async ({ api, namespace, core }) => {
  await using hooks = await Webhooks.start(api, namespace);
  await using other = await Webhooks.start(api, namespace);
  const create = async (): Promise<string> => messageOf(await api.post(`${core}/configmaps`, configMapNamed("a")), hooks);
  const failures: string[] = [];
  for (const [name, clientConfig] of Object.entries({
    closed: { url: "https://127.0.0.1:9/x" },
    authority: { ...hooks.server.clientConfig("/x"), caBundle: other.server.caBundle },
    service: { service: { namespace, name: "none" } },
  })) {
    await using one = await Webhooks.start(api, namespace);
    await one.configure("Validating", name, { clientConfig });
    failures.push((await create()).replaceAll(namespace, "NAMESPACE"));
  }
  expect(failures).toMatchInlineSnapshot(`
    [
      '500 Internal error occurred: failed calling webhook "closed.example.com": failed to call webhook: Post "https://127.0.0.1:9/x?timeout=10s": dial tcp 127.0.0.1:9: connect: connection refused',
      '500 Internal error occurred: failed calling webhook "authority.example.com": failed to call webhook: Post "https://127.0.0.1:PORT/x?timeout=10s": tls: failed to verify certificate: x509: certificate signed by unknown authority',
      '500 Internal error occurred: failed calling webhook "service.example.com": failed to call webhook: Post "https://none.NAMESPACE.svc:443/?timeout=10s": service "none" not found',
    ]
  `);
});

test("a webhook that does not answer in time", async ({ api, namespace, core }) => {
  await using hooks = await Webhooks.start(api, namespace, { "/": () => new Promise(() => undefined) });
  await hooks.configure("Validating", "slow", { timeoutSeconds: 1 });
  expect(messageOf(await api.post(`${core}/configmaps`, configMapNamed("a")), hooks)).toMatchInlineSnapshot(
    `"500 Internal error occurred: failed calling webhook "slow.example.com": failed to call webhook: Post "https://127.0.0.1:PORT/?timeout=1s": context deadline exceeded"`,
  );
});

test("failurePolicy Ignore, dry runs with side effects, and warnings", async ({ api, namespace, core }) => {
  await using hooks = await Webhooks.start(api, namespace, { "/warn": allow({ warnings: ['a "quoted" one', "two"] }), "/gone": () => 500 });
  await hooks.configure("Validating", "ignored", { failurePolicy: "Ignore" }, "/gone");
  await hooks.configure("Validating", "warns", { sideEffects: "NoneOnDryRun" }, "/warn");
  const created = await api.post(`${core}/configmaps`, configMapNamed("a"));
  expect([created.status, created.headers["warning"]]).toMatchInlineSnapshot(
    `[201, "299 - \\"a \\\\\\"quoted\\\\\\" one\\", 299 - \\"two\\""]`,
  );
});

test("webhooks are called in order, and again if they want to", async ({ api, namespace, core }) => {
  const append = (letter: string) => (review: { apiVersion: string; request: { object: { data?: { order: string } } } }) =>
    patch([{ op: "add", path: "/data", value: { order: `${review.request.object.data?.order ?? ""}${letter}` } }])(review);
  await using hooks = await Webhooks.start(api, namespace, { "/a": append("a"), "/b": append("b"), "/c": append("c") });
  await hooks.configure("Mutating", "c", { reinvocationPolicy: "IfNeeded" }, "/c");
  await hooks.configure("Mutating", "b", {}, "/b");
  await hooks.configure("Mutating", "a", { reinvocationPolicy: "IfNeeded" }, "/a");
  const { body } = await api.post(`${core}/configmaps`, configMapNamed("x", { order: "" }));
  expect(body.data).toMatchInlineSnapshot(`{order: "abcac"}`);
});

test("a webhook behind a service with an external name", async ({ api, namespace, core }) => {
  await using hooks = await Webhooks.start(api, namespace, { "/": patch([{ op: "add", path: "/data", value: { by: "service" } }]) });
  await api.create(`${core}/services`, { metadata: { name: "hook" }, spec: { type: "ExternalName", externalName: "localhost" } });
  // The certificate is valid for a service of another namespace only.
  const service = { namespace, name: "hook", port: hooks.server.port, path: "/" };
  await hooks.configure("Mutating", "service", { clientConfig: { service, caBundle: hooks.server.caBundle } });
  // The real server looks for the service in a cache that may not have it yet.
  const { status, body } = await eventually(async () => {
    const answer = await api.post(`${core}/configmaps`, configMapNamed("a"));
    expect(answer.body.message).not.toContain('service "hook" not found');
    return answer;
  });
  const message = String(body.message).replaceAll(namespace, "NAMESPACE").replaceAll(String(hooks.server.port), "PORT");
  expect([status, message]).toMatchInlineSnapshot(`
    [
      500,
      'Internal error occurred: failed calling webhook "service.example.com": failed to call webhook: Post "https://hook.NAMESPACE.svc:PORT/?timeout=10s": tls: failed to verify certificate: x509: certificate is valid for localhost, hook.default.svc, not hook.NAMESPACE.svc',
    ]
  `);
});

test("match conditions decide whether a webhook is called", async ({ api, namespace, core }) => {
  await using hooks = await Webhooks.start(api, namespace, { "/": deny() });
  await hooks.configure("Validating", "conditions", {
    matchConditions: [
      { name: "red", expression: 'object.data.color == "red"' },
      { name: "create", expression: 'request.operation == "CREATE"' },
    ],
    objectSelector: { matchLabels: { app: "web" } },
  });
  const create = async (data: Record<string, string>): Promise<unknown> => {
    const { status, body } = await api.post(`${core}/configmaps?dryRun=All`, configMapNamed("a", data, { labels: { app: "web" } }));
    return [status, body.message];
  };
  expect([await create({ color: "red" }), await create({ color: "blue" }), await create({})]).toMatchInlineSnapshot(`
    [
      [400, 'admission webhook "conditions.example.com" denied the request without explanation'],
      [201, undefined],
      [403, "configmaps \\"a\\" is forbidden: expression 'object.data.color == \\"red\\"' resulted in error: no such key: data"],
    ]
  `);
});
