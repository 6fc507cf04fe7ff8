import { eventually } from "@virtual-kubelet/testing";
import { expect } from "vitest";
import { establishDefinition } from "./support/definitions.ts";
import { managersOf } from "./support/managers.ts";
import { test } from "./support/parity-test.ts";

const configMap = (data: object, metadata: object = {}): object => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name: "settings", ...metadata },
  data,
});

const deployment = (spec: object = {}, container: object = {}, metadata: object = {}): object => ({
  apiVersion: "apps/v1",
  kind: "Deployment",
  metadata: { name: "web", labels: { app: "web" }, ...metadata },
  spec: {
    replicas: 0,
    selector: { matchLabels: { app: "web" } },
    template: {
      metadata: { labels: { app: "web" } },
      spec: { containers: [{ name: "c", image: "busybox", ...container }] },
    },
    ...spec,
  },
});

test("apply creates an object, and its manager owns what it applied", async ({ api, core, apps }) => {
  const created = await api.apply(`${core}/configmaps/settings`, "alice", configMap({ a: "1" }, { labels: { x: "y" } }));
  expect(created.status).toBe(201);
  expect(managersOf(created.body)).toMatchInlineSnapshot(`['alice Apply v1 {"f:data":{"f:a":{}},"f:metadata":{"f:labels":{"f:x":{}}}}']`);

  const web = await api.apply(
    `${apps}/deployments/web`,
    "alice",
    deployment({}, { ports: [{ containerPort: 80 }], env: [{ name: "A", value: "1" }] }),
  );
  expect(web).toMatchInlineSnapshot(`
    201 {
      apiVersion: "apps/v1",
      kind: "Deployment",
      metadata: {
        creationTimestamp: "TIME",
        generation: 1,
        labels: {app: "web"},
        name: "web",
        namespace: "NAMESPACE",
        resourceVersion: VERSION,
        uid: "UID",
      },
      spec: {
        progressDeadlineSeconds: 600,
        replicas: 0,
        revisionHistoryLimit: 10,
        selector: {matchLabels: {app: "web"}},
        strategy: {rollingUpdate: {maxSurge: "25%", maxUnavailable: "25%"}, type: "RollingUpdate"},
        template: {
          metadata: {labels: {app: "web"}},
          spec: {
            containers: [
              {
                env: [{name: "A", value: "1"}],
                image: "busybox",
                imagePullPolicy: "Always",
                name: "c",
                ports: [{containerPort: 80, protocol: "TCP"}],
                resources: {},
                terminationMessagePath: "/dev/termination-log",
                terminationMessagePolicy: "File",
              },
            ],
            dnsPolicy: "ClusterFirst",
            restartPolicy: "Always",
            schedulerName: "default-scheduler",
            securityContext: {},
            terminationGracePeriodSeconds: 30,
          },
        },
      },
      status: {},
    }
  `);
  expect(managersOf(web.body)).toMatchInlineSnapshot(`
    [
      "alice Apply apps/v1 {\\"f:metadata\\":{\\"f:labels\\":{\\"f:app\\":{}}},\\"f:spec\\":{\\"f:replicas\\":{},\\"f:selector\\":{},\\"f:template\\":{\\"f:metadata\\":{\\"f:labels\\":{\\"f:app\\":{}}},\\"f:spec\\":{\\"f:containers\\":{\\"k:{\\\\\\"name\\\\\\":\\\\\\"c\\\\\\"}\\":{\\".\\":{},\\"f:env\\":{\\"k:{\\\\\\"name\\\\\\":\\\\\\"A\\\\\\"}\\":{\\".\\":{},\\"f:name\\":{},\\"f:value\\":{}}},\\"f:image\\":{},\\"f:name\\":{},\\"f:ports\\":{\\"k:{\\\\\\"containerPort\\\\\\":80,\\\\\\"protocol\\\\\\":\\\\\\"TCP\\\\\\"}\\":{\\".\\":{},\\"f:containerPort\\":{}}}}}}}}}",
    ]
  `);
});

test("what a manager no longer applies is removed, unless somebody else owns it", async ({ api, core }) => {
  const path = `${core}/configmaps/settings`;
  await api.apply(path, "alice", configMap({ a: "1", b: "2", c: "3" }));
  await api.apply(path, "bob", configMap({ b: "2" }));
  const answer = await api.apply(path, "alice", configMap({ a: "1" }));
  expect(answer.body.data).toEqual({ a: "1", b: "2" });
  expect(managersOf(answer.body)).toMatchInlineSnapshot(
    `['alice Apply v1 {"f:data":{"f:a":{}}}', 'bob Apply v1 without time {"f:data":{"f:b":{}}}']`,
  );
});

test("a change of a field of somebody else is a conflict, unless it is forced", async ({ api, core, apps }) => {
  const path = `${core}/configmaps/settings`;
  await api.apply(path, "alice", configMap({ a: "1", b: "2" }));
  await api.patch("merge", `${path}?fieldManager=bob`, { data: { b: "3" } });
  expect(await api.apply(path, "carol", configMap({ a: "9" }))).toMatchInlineSnapshot(`
    409 Failure {
      details: {causes: [{field: ".data.a", message: 'conflict with "alice"', reason: "FieldManagerConflict"}]},
      message: 'Apply failed with 1 conflict: conflict with "alice": .data.a',
      reason: "Conflict",
    }
  `);
  const { body: conflicts } = await api.apply(path, "carol", configMap({ a: "9", b: "9" }));
  // The real server lists the managers in a random order.
  conflicts.details.causes.sort((a: { field: string }, b: { field: string }) => a.field.localeCompare(b.field));
  expect(conflicts).toMatchInlineSnapshot(`
    {
      apiVersion: "v1",
      code: 409,
      details: {
        causes: [
          {field: ".data.a", message: 'conflict with "alice"', reason: "FieldManagerConflict"},
          {field: ".data.b", message: 'conflict with "bob" using v1', reason: "FieldManagerConflict"},
        ],
      },
      kind: "Status",
      message: "Apply failed with 2 conflicts: conflicts with \\"alice\\":\\n- .data.a\\nconflicts with \\"bob\\" using v1:\\n- .data.b",
      metadata: {},
      reason: "Conflict",
      status: "Failure",
    }
  `);
  const forced = await api.apply(path, "carol&force=true", configMap({ a: "9", b: "9" }));
  expect(forced.status).toBe(200);
  expect(managersOf(forced.body)).toMatchInlineSnapshot(`['carol Apply v1 {"f:data":{"f:a":{},"f:b":{}}}']`);

  await api.create(`${apps}/deployments`, deployment());
  expect(await api.apply(`${apps}/deployments/web`, "carol", deployment({ replicas: 2 }, { image: "nginx" }))).toMatchInlineSnapshot(`
    409 Failure {
      details: {
        causes: [
          {field: ".spec.replicas", message: 'conflict with "unknown" using apps/v1', reason: "FieldManagerConflict"},
          {
            field: '.spec.template.spec.containers[name="c"].image',
            message: 'conflict with "unknown" using apps/v1',
            reason: "FieldManagerConflict",
          },
        ],
      },
      message: "Apply failed with 2 conflicts: conflicts with \\"unknown\\" using apps/v1:\\n- .spec.replicas\\n- .spec.template.spec.containers[name=\\"c\\"].image",
      reason: "Conflict",
    }
  `);
});

test("items of a list are merged by their keys, and keep an order that both lists agree with", async ({ api, apps }) => {
  const path = `${apps}/deployments/web`;
  const env = (...names: string[]): object[] => names.map((name) => ({ name, value: name }));
  await api.apply(path, "alice", deployment({}, { env: env("A", "B", "C") }));
  const added = await api.apply(path, "bob", {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name: "web" },
    spec: {
      template: {
        spec: {
          containers: [
            { name: "c", env: env("Z", "B", "Y") },
            { name: "side", image: "busybox" },
          ],
        },
      },
    },
  });
  expect(added.status).toBe(200);
  const containers = added.body.spec.template.spec.containers;
  expect(containers.map(({ name }: { name: string }) => name)).toMatchInlineSnapshot(`["c", "side"]`);
  expect(containers[0].env.map(({ name }: { name: string }) => name)).toMatchInlineSnapshot(`["A", "Z", "B", "C", "Y"]`);
  const removed = await api.apply(path, "alice", deployment({}, { env: env("C") }));
  expect(removed.body.spec.template.spec.containers[0].env.map(({ name }: { name: string }) => name)).toMatchInlineSnapshot(
    `["Z", "B", "C", "Y"]`,
  );
  // The Deployment's controller may have written by now.
  expect(managersOf(removed.body).filter((manager) => !manager.startsWith("kube-"))).toMatchInlineSnapshot(`
    [
      "alice Apply apps/v1 {\\"f:metadata\\":{\\"f:labels\\":{\\"f:app\\":{}}},\\"f:spec\\":{\\"f:replicas\\":{},\\"f:selector\\":{},\\"f:template\\":{\\"f:metadata\\":{\\"f:labels\\":{\\"f:app\\":{}}},\\"f:spec\\":{\\"f:containers\\":{\\"k:{\\\\\\"name\\\\\\":\\\\\\"c\\\\\\"}\\":{\\".\\":{},\\"f:env\\":{\\"k:{\\\\\\"name\\\\\\":\\\\\\"C\\\\\\"}\\":{\\".\\":{},\\"f:name\\":{},\\"f:value\\":{}}},\\"f:image\\":{},\\"f:name\\":{}}}}}}}",
      "bob Apply apps/v1 {\\"f:spec\\":{\\"f:template\\":{\\"f:spec\\":{\\"f:containers\\":{\\"k:{\\\\\\"name\\\\\\":\\\\\\"c\\\\\\"}\\":{\\".\\":{},\\"f:env\\":{\\"k:{\\\\\\"name\\\\\\":\\\\\\"B\\\\\\"}\\":{\\".\\":{},\\"f:name\\":{},\\"f:value\\":{}},\\"k:{\\\\\\"name\\\\\\":\\\\\\"Y\\\\\\"}\\":{\\".\\":{},\\"f:name\\":{},\\"f:value\\":{}},\\"k:{\\\\\\"name\\\\\\":\\\\\\"Z\\\\\\"}\\":{\\".\\":{},\\"f:name\\":{},\\"f:value\\":{}}},\\"f:name\\":{}},\\"k:{\\\\\\"name\\\\\\":\\\\\\"side\\\\\\"}\\":{\\".\\":{},\\"f:image\\":{},\\"f:name\\":{}}}}}}}",
    ]
  `);
});

test("a configuration that does not match the schema is refused", async ({ api, core, apps }) => {
  expect([
    await api.apply(`${apps}/deployments/web`, "alice", deployment({ replica: 1 })),
    await api.apply(`${apps}/deployments/web`, "alice", deployment({ replicas: "1" })),
    await api.apply(`${apps}/deployments/web`, "alice", deployment({}, { env: [{ name: "A" }, { name: "A" }] })),
    await api.apply(`${apps}/deployments/web`, "alice", deployment({}, { env: [{ value: "A" }] })),
    await api.apply(`${core}/configmaps/settings`, "alice", configMap({ a: 1 })),
    await api.apply(`${core}/configmaps/settings`, "alice", { apiVersion: "v1", kind: "Secret", metadata: { name: "settings" } }),
    await api.apply(`${core}/configmaps/settings`, "alice", { apiVersion: "v1", kind: "ConfigMap" }),
    await api.apply(`${core}/configmaps/settings`, "alice", configMap({}, { name: "other" })),
    await api.apply(`${core}/configmaps/settings`, "alice", configMap({}, { managedFields: [] })),
    await api.apply(`${core}/configmaps/settings`, "alice", "[1]"),
    await api.apply(`${core}/configmaps/settings`, "", configMap({})),
    await api.patch("merge", `${core}/configmaps/settings?force=true`, {}),
    await api.apply(`${core}/configmaps`, "alice", configMap({})),
  ]).toMatchInlineSnapshot(`
    [
      
      500 Failure {message: "failed to create typed patch object (/web; apps/v1, Kind=Deployment): .spec.replica: field not declared in schema"},
      
      500 Failure {
      message: "failed to create typed patch object (/web; apps/v1, Kind=Deployment): .spec.replicas: expected numeric (int or float), got string",
    },
      
      500 Failure {
      message: 'failed to create typed patch object (/web; apps/v1, Kind=Deployment): .spec.template.spec.containers[name="c"].env: duplicate entries for key [name="A"]',
    },
      
      422 Failure {
      details: {
        causes: [{field: "spec.template.spec.containers[0].env[0].name", message: "Required value", reason: "FieldValueRequired"}],
        group: "apps",
        kind: "Deployment",
        name: "web",
      },
      message: 'Deployment.apps "web" is invalid: spec.template.spec.containers[0].env[0].name: Required value',
      reason: "Invalid",
    },
      
      500 Failure {
      message: "failed to create typed patch object (/settings; /v1, Kind=ConfigMap): .data.a: expected string, got &value.valueUnstructured{Value:1}",
    },
      
      400 Failure {message: "invalid object type: /v1, Kind=Secret", reason: "BadRequest"},
      
      400 Failure {message: "the name of the object (settings based on URL) was undeterminable: name must be provided", reason: "BadRequest"},
      
      400 Failure {message: "the name of the object (other) does not match the name on the URL (settings)", reason: "BadRequest"},
      
      400 Failure {message: "metadata.managedFields must be nil", reason: "BadRequest"},
      
      400 Failure {
      message: "error decoding YAML: error unmarshaling JSON: while decoding JSON: json: cannot unmarshal array into Go value of type map[string]interface {}",
      reason: "BadRequest",
    },
      
      422 Failure {
      details: {
        causes: [{field: "fieldManager", message: "Required value: is required for apply patch", reason: "FieldValueRequired"}],
        group: "meta.k8s.io",
        kind: "PatchOptions",
      },
      message: 'PatchOptions.meta.k8s.io "" is invalid: fieldManager: Required value: is required for apply patch',
      reason: "Invalid",
    },
      
      422 Failure {
      details: {
        causes: [{field: "force", message: "Forbidden: may not be specified for non-apply patch", reason: "FieldValueForbidden"}],
        group: "meta.k8s.io",
        kind: "PatchOptions",
      },
      message: 'PatchOptions.meta.k8s.io "" is invalid: force: Forbidden: may not be specified for non-apply patch',
      reason: "Invalid",
    },
      
      405 Failure {details: {}, message: "the server does not allow this method on the requested resource", reason: "MethodNotAllowed"},
    ]
  `);
});

test("managers in a configuration are refused, in other words if they are malformed", async ({ api, namespace, core }) => {
  await using things = await establishDefinition(api, { namespace, schema: { type: "object" } });
  const targets = { "built-in kind": [`${core}/configmaps`, configMap({})], "custom resource": [things.path, things] } as const;
  const entry = { manager: "m", operation: "Apply", apiVersion: "v1", fieldsType: "FieldsV1", fieldsV1: {} };
  const managers: Readonly<Record<string, unknown>> = {
    null: null,
    empty: [],
    "an entry": [entry],
    "a time": [{ ...entry, time: "2026-01-02T03:04:05Z" }],
    "a time with a fraction": [{ ...entry, time: "2026-01-02T03:04:05.678Z" }],
    "an empty time": [{ ...entry, time: "" }],
    "no time": [{ ...entry, time: null }],
    "a malformed time": [{ ...entry, time: "yesterday" }],
    "a time that cannot be": [{ ...entry, time: "2026-02-30T03:04:05Z" }],
    "a number as time": [{ ...entry, time: 5 }],
    "a second time": [entry, { ...entry, time: "yesterday" }],
    "only a malformed time": [{ time: "yesterday" }],
    "malformed fields": [{ ...entry, fieldsV1: "x" }],
    "an unknown field": [{ ...entry, other: 1 }],
    "an unknown field and a malformed time": [{ ...entry, other: 1, time: "yesterday" }],
  };
  const seen: Record<string, Record<string, unknown>> = {};
  for (const [target, [path, object]] of Object.entries(targets)) {
    const { apiVersion, kind } = object as { apiVersion: string; kind: string };
    await api.create(path, { apiVersion, kind, metadata: { name: "old" } });
    for (const [name, managedFields] of Object.entries(managers))
      for (const [place, url] of Object.entries({ new: `${path}/new`, old: `${path}/old` })) {
        const answer = await api.apply(url, "alice&dryRun=All", { apiVersion, kind, metadata: { name: place, managedFields } });
        const { status, body } = answer;
        ((seen[target] ??= {})[name] as Record<string, unknown>) ??= {};
        (seen[target][name] as Record<string, unknown>)[place] =
          status < 300 ? managersOf(body) : [status, body.reason, String(body.message).replaceAll(namespace, "NS")];
      }
  }
  expect(seen).toMatchSnapshot();
});

test("a configuration that is not YAML is refused with the place of the problem", async ({ api, core }) => {
  const answer = await api.apply(`${core}/configmaps/settings`, "alice", "a: [b");
  expect([answer.status, answer.body.message]).toEqual([
    400,
    expect.stringMatching(/^error decoding YAML: error converting YAML to JSON: yaml: .*line 1/),
  ]);
});

test("a key that occurs twice is refused or reported", async ({ api, core }) => {
  const path = `${core}/configmaps/settings`;
  const yaml = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: settings\ndata:\n  a: x\n  a: z\n";
  const json = '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"settings"},"data":{"a":"x","a":"z"}}';
  expect([await api.apply(path, "alice&fieldValidation=Strict", yaml), await api.apply(path, "alice&fieldValidation=Strict", json)])
    .toMatchInlineSnapshot(`
    [
      
      400 Failure {
      message: "error strict decoding YAML: error converting YAML to JSON: yaml: unmarshal errors:\\n  line 7: key \\"a\\" already set in map",
      reason: "BadRequest",
    },
      
      400 Failure {
      message: "error strict decoding YAML: error converting YAML to JSON: yaml: unmarshal errors:\\n  line 1: key \\"a\\" already set in map",
      reason: "BadRequest",
    },
    ]
  `);
  const warned = await api.apply(path, "alice", yaml);
  expect([warned.status, warned.body.data, warned.headers["warning"]]).toMatchInlineSnapshot(
    `[201, {a: "z"}, "299 - \\"line 7: key \\\\\\"a\\\\\\" already set in map\\""]`,
  );
  const ignored = await api.apply(path, "alice&fieldValidation=Ignore", json);
  expect([ignored.status, ignored.headers["warning"]]).toEqual([200, undefined]);
});

test("apply reads YAML, and a dry run stores nothing", async ({ api, core }) => {
  const path = `${core}/configmaps/settings`;
  const yaml = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: settings\n  labels: {on: 'yes'}\ndata:\n  text: |\n    a\n    b\n";
  const dry = await api.apply(path, "alice&dryRun=All", yaml);
  expect([dry.status, dry.body.data]).toEqual([201, { text: "a\nb\n" }]);
  expect((await api.get(path)).status).toBe(404);
  const created = await api.apply(path, "alice", yaml);
  expect(created.body.metadata.labels).toEqual({ true: "yes" });
});

test("an apply that changes nothing does not change the version", async ({ api, core, apps }) => {
  const path = `${core}/configmaps/settings`;
  const first = await api.apply(path, "alice", configMap({ a: "1" }));
  const again = await api.apply(path, "alice", configMap({ a: "1" }));
  expect(again.status).toBe(200);
  expect(again.body).toEqual(first.body);

  const web = await api.apply(`${apps}/deployments/web`, "alice", deployment());
  expect((await api.apply(`${apps}/deployments/web`, "alice", deployment())).body.metadata.managedFields[0]).toEqual(
    web.body.metadata.managedFields[0],
  );
});

test("each verb records its manager, by name or by the user agent", async ({ api, core }) => {
  const made = await api.request("POST", `${core}/configmaps`, {
    body: configMap({ a: "1" }),
    headers: { "user-agent": "my-tool/v1 (linux)" },
  });
  expect(managersOf(made.body)).toMatchInlineSnapshot(`['my-tool Update v1 {"f:data":{".":{},"f:a":{}}}']`);
  const path = `${core}/configmaps/settings`;
  const put = await api.put(`${path}?fieldManager=putter`, { ...made.body, data: { a: "2", b: "1" } });
  expect(managersOf(put.body)).toMatchInlineSnapshot(
    `['my-tool Update v1 {"f:data":{}}', 'putter Update v1 {"f:data":{"f:a":{},"f:b":{}}}']`,
  );
  const patched = await api.patch("json", `${path}?fieldManager=patcher`, [{ op: "remove", path: "/data/b" }]);
  expect(managersOf(patched.body)).toMatchInlineSnapshot(`['my-tool Update v1 {"f:data":{}}', 'putter Update v1 {"f:data":{"f:a":{}}}']`);
  const reset = await api.patch("merge", path, { metadata: { managedFields: [{}] } });
  expect(managersOf(reset.body)).toEqual([]);
  const after = await api.apply(path, "alice", configMap({ z: "1" }));
  expect(managersOf(after.body)).toMatchInlineSnapshot(
    `['alice Apply v1 {"f:data":{"f:z":{}}}', 'before-first-apply Update v1 {"f:data":{".":{},"f:a":{}}}']`,
  );
});

test("a pod and its status have managers of their own", async ({ api, core }) => {
  const pod = await api.request("POST", `${core}/pods`, {
    body: {
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name: "web", labels: { a: "b" }, annotations: { c: "d" }, finalizers: ["example.com/f"] },
      spec: {
        nodeName: "nowhere",
        containers: [
          {
            name: "c",
            image: "busybox",
            command: ["a"],
            ports: [{ containerPort: 80 }, { containerPort: 81, name: "x", protocol: "UDP" }],
            env: [{ name: "A", valueFrom: { fieldRef: { fieldPath: "metadata.name" } } }],
            resources: { requests: { cpu: "1" }, limits: {} },
            volumeMounts: [{ name: "v", mountPath: "/v" }],
            securityContext: {},
          },
        ],
        volumes: [{ name: "v", emptyDir: {} }],
        tolerations: [{ operator: "Exists" }],
        securityContext: { runAsUser: 1, supplementalGroups: [1] },
        imagePullSecrets: [{ name: "s" }],
        hostAliases: [{ ip: "1.2.3.4", hostnames: ["a"] }],
        nodeSelector: { a: "b" },
      },
    },
    headers: { "user-agent": "creator" },
  });
  expect(managersOf(pod.body)).toMatchInlineSnapshot(`
    [
      "creator Update v1 {\\"f:metadata\\":{\\"f:annotations\\":{\\".\\":{},\\"f:c\\":{}},\\"f:finalizers\\":{\\".\\":{},\\"v:\\\\\\"example.com/f\\\\\\"\\":{}},\\"f:labels\\":{\\".\\":{},\\"f:a\\":{}}},\\"f:spec\\":{\\"f:containers\\":{\\"k:{\\\\\\"name\\\\\\":\\\\\\"c\\\\\\"}\\":{\\".\\":{},\\"f:command\\":{},\\"f:env\\":{\\".\\":{},\\"k:{\\\\\\"name\\\\\\":\\\\\\"A\\\\\\"}\\":{\\".\\":{},\\"f:name\\":{},\\"f:valueFrom\\":{\\".\\":{},\\"f:fieldRef\\":{}}}},\\"f:image\\":{},\\"f:imagePullPolicy\\":{},\\"f:name\\":{},\\"f:ports\\":{\\".\\":{},\\"k:{\\\\\\"containerPort\\\\\\":80,\\\\\\"protocol\\\\\\":\\\\\\"TCP\\\\\\"}\\":{\\".\\":{},\\"f:containerPort\\":{},\\"f:protocol\\":{}},\\"k:{\\\\\\"containerPort\\\\\\":81,\\\\\\"protocol\\\\\\":\\\\\\"UDP\\\\\\"}\\":{\\".\\":{},\\"f:containerPort\\":{},\\"f:name\\":{},\\"f:protocol\\":{}}},\\"f:resources\\":{\\".\\":{},\\"f:requests\\":{\\".\\":{},\\"f:cpu\\":{}}},\\"f:securityContext\\":{},\\"f:terminationMessagePath\\":{},\\"f:terminationMessagePolicy\\":{},\\"f:volumeMounts\\":{\\".\\":{},\\"k:{\\\\\\"mountPath\\\\\\":\\\\\\"/v\\\\\\"}\\":{\\".\\":{},\\"f:mountPath\\":{},\\"f:name\\":{}}}}},\\"f:dnsPolicy\\":{},\\"f:enableServiceLinks\\":{},\\"f:hostAliases\\":{\\".\\":{},\\"k:{\\\\\\"ip\\\\\\":\\\\\\"1.2.3.4\\\\\\"}\\":{\\".\\":{},\\"f:hostnames\\":{},\\"f:ip\\":{}}},\\"f:imagePullSecrets\\":{\\".\\":{},\\"k:{\\\\\\"name\\\\\\":\\\\\\"s\\\\\\"}\\":{}},\\"f:nodeName\\":{},\\"f:nodeSelector\\":{},\\"f:restartPolicy\\":{},\\"f:schedulerName\\":{},\\"f:securityContext\\":{\\".\\":{},\\"f:runAsUser\\":{},\\"f:supplementalGroups\\":{}},\\"f:terminationGracePeriodSeconds\\":{},\\"f:tolerations\\":{},\\"f:volumes\\":{\\".\\":{},\\"k:{\\\\\\"name\\\\\\":\\\\\\"v\\\\\\"}\\":{\\".\\":{},\\"f:emptyDir\\":{},\\"f:name\\":{}}}}}",
    ]
  `);
  const status = await api.request("PATCH", `${core}/pods/web/status`, {
    body: {
      status: { phase: "Running", podIP: "10.1.2.3", podIPs: [{ ip: "10.1.2.3" }], conditions: [{ type: "Ready", status: "True" }] },
      metadata: { labels: { e: "f" } },
    },
    headers: { "user-agent": "kubelet/1", "content-type": "application/strategic-merge-patch+json" },
  });
  expect(managersOf(status.body)).toMatchInlineSnapshot(`
    [
      "creator Update v1 {\\"f:metadata\\":{\\"f:annotations\\":{\\".\\":{},\\"f:c\\":{}},\\"f:finalizers\\":{\\".\\":{},\\"v:\\\\\\"example.com/f\\\\\\"\\":{}},\\"f:labels\\":{\\".\\":{},\\"f:a\\":{}}},\\"f:spec\\":{\\"f:containers\\":{\\"k:{\\\\\\"name\\\\\\":\\\\\\"c\\\\\\"}\\":{\\".\\":{},\\"f:command\\":{},\\"f:env\\":{\\".\\":{},\\"k:{\\\\\\"name\\\\\\":\\\\\\"A\\\\\\"}\\":{\\".\\":{},\\"f:name\\":{},\\"f:valueFrom\\":{\\".\\":{},\\"f:fieldRef\\":{}}}},\\"f:image\\":{},\\"f:imagePullPolicy\\":{},\\"f:name\\":{},\\"f:ports\\":{\\".\\":{},\\"k:{\\\\\\"containerPort\\\\\\":80,\\\\\\"protocol\\\\\\":\\\\\\"TCP\\\\\\"}\\":{\\".\\":{},\\"f:containerPort\\":{},\\"f:protocol\\":{}},\\"k:{\\\\\\"containerPort\\\\\\":81,\\\\\\"protocol\\\\\\":\\\\\\"UDP\\\\\\"}\\":{\\".\\":{},\\"f:containerPort\\":{},\\"f:name\\":{},\\"f:protocol\\":{}}},\\"f:resources\\":{\\".\\":{},\\"f:requests\\":{\\".\\":{},\\"f:cpu\\":{}}},\\"f:securityContext\\":{},\\"f:terminationMessagePath\\":{},\\"f:terminationMessagePolicy\\":{},\\"f:volumeMounts\\":{\\".\\":{},\\"k:{\\\\\\"mountPath\\\\\\":\\\\\\"/v\\\\\\"}\\":{\\".\\":{},\\"f:mountPath\\":{},\\"f:name\\":{}}}}},\\"f:dnsPolicy\\":{},\\"f:enableServiceLinks\\":{},\\"f:hostAliases\\":{\\".\\":{},\\"k:{\\\\\\"ip\\\\\\":\\\\\\"1.2.3.4\\\\\\"}\\":{\\".\\":{},\\"f:hostnames\\":{},\\"f:ip\\":{}}},\\"f:imagePullSecrets\\":{\\".\\":{},\\"k:{\\\\\\"name\\\\\\":\\\\\\"s\\\\\\"}\\":{}},\\"f:nodeName\\":{},\\"f:nodeSelector\\":{},\\"f:restartPolicy\\":{},\\"f:schedulerName\\":{},\\"f:securityContext\\":{\\".\\":{},\\"f:runAsUser\\":{},\\"f:supplementalGroups\\":{}},\\"f:terminationGracePeriodSeconds\\":{},\\"f:tolerations\\":{},\\"f:volumes\\":{\\".\\":{},\\"k:{\\\\\\"name\\\\\\":\\\\\\"v\\\\\\"}\\":{\\".\\":{},\\"f:emptyDir\\":{},\\"f:name\\":{}}}}}",
      "kubelet Update v1 status {\\"f:metadata\\":{\\"f:labels\\":{\\"f:e\\":{}}},\\"f:status\\":{\\"f:conditions\\":{\\".\\":{},\\"k:{\\\\\\"type\\\\\\":\\\\\\"Ready\\\\\\"}\\":{\\".\\":{},\\"f:lastProbeTime\\":{},\\"f:lastTransitionTime\\":{},\\"f:status\\":{},\\"f:type\\":{}}},\\"f:phase\\":{},\\"f:podIP\\":{},\\"f:podIPs\\":{\\".\\":{},\\"k:{\\\\\\"ip\\\\\\":\\\\\\"IP\\\\\\"}\\":{\\".\\":{},\\"f:ip\\":{}}}}}",
    ]
  `);
  const applied = await api.apply(`${core}/pods/web/status`, "alice", {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: "web" },
    status: { message: "hello", conditions: [{ type: "example.com/x", status: "True" }] },
  });
  expect(managersOf(applied.body)).toMatchInlineSnapshot(`
    [
      "alice Apply v1 status {\\"f:status\\":{\\"f:conditions\\":{\\"k:{\\\\\\"type\\\\\\":\\\\\\"example.com/x\\\\\\"}\\":{\\".\\":{},\\"f:status\\":{},\\"f:type\\":{}}},\\"f:message\\":{}}}",
      "creator Update v1 {\\"f:metadata\\":{\\"f:annotations\\":{\\".\\":{},\\"f:c\\":{}},\\"f:finalizers\\":{\\".\\":{},\\"v:\\\\\\"example.com/f\\\\\\"\\":{}},\\"f:labels\\":{\\".\\":{},\\"f:a\\":{}}},\\"f:spec\\":{\\"f:containers\\":{\\"k:{\\\\\\"name\\\\\\":\\\\\\"c\\\\\\"}\\":{\\".\\":{},\\"f:command\\":{},\\"f:env\\":{\\".\\":{},\\"k:{\\\\\\"name\\\\\\":\\\\\\"A\\\\\\"}\\":{\\".\\":{},\\"f:name\\":{},\\"f:valueFrom\\":{\\".\\":{},\\"f:fieldRef\\":{}}}},\\"f:image\\":{},\\"f:imagePullPolicy\\":{},\\"f:name\\":{},\\"f:ports\\":{\\".\\":{},\\"k:{\\\\\\"containerPort\\\\\\":80,\\\\\\"protocol\\\\\\":\\\\\\"TCP\\\\\\"}\\":{\\".\\":{},\\"f:containerPort\\":{},\\"f:protocol\\":{}},\\"k:{\\\\\\"containerPort\\\\\\":81,\\\\\\"protocol\\\\\\":\\\\\\"UDP\\\\\\"}\\":{\\".\\":{},\\"f:containerPort\\":{},\\"f:name\\":{},\\"f:protocol\\":{}}},\\"f:resources\\":{\\".\\":{},\\"f:requests\\":{\\".\\":{},\\"f:cpu\\":{}}},\\"f:securityContext\\":{},\\"f:terminationMessagePath\\":{},\\"f:terminationMessagePolicy\\":{},\\"f:volumeMounts\\":{\\".\\":{},\\"k:{\\\\\\"mountPath\\\\\\":\\\\\\"/v\\\\\\"}\\":{\\".\\":{},\\"f:mountPath\\":{},\\"f:name\\":{}}}}},\\"f:dnsPolicy\\":{},\\"f:enableServiceLinks\\":{},\\"f:hostAliases\\":{\\".\\":{},\\"k:{\\\\\\"ip\\\\\\":\\\\\\"1.2.3.4\\\\\\"}\\":{\\".\\":{},\\"f:hostnames\\":{},\\"f:ip\\":{}}},\\"f:imagePullSecrets\\":{\\".\\":{},\\"k:{\\\\\\"name\\\\\\":\\\\\\"s\\\\\\"}\\":{}},\\"f:nodeName\\":{},\\"f:nodeSelector\\":{},\\"f:restartPolicy\\":{},\\"f:schedulerName\\":{},\\"f:securityContext\\":{\\".\\":{},\\"f:runAsUser\\":{},\\"f:supplementalGroups\\":{}},\\"f:terminationGracePeriodSeconds\\":{},\\"f:tolerations\\":{},\\"f:volumes\\":{\\".\\":{},\\"k:{\\\\\\"name\\\\\\":\\\\\\"v\\\\\\"}\\":{\\".\\":{},\\"f:emptyDir\\":{},\\"f:name\\":{}}}}}",
      "kubelet Update v1 status {\\"f:metadata\\":{\\"f:labels\\":{\\"f:e\\":{}}},\\"f:status\\":{\\"f:conditions\\":{\\".\\":{},\\"k:{\\\\\\"type\\\\\\":\\\\\\"Ready\\\\\\"}\\":{\\".\\":{},\\"f:lastProbeTime\\":{},\\"f:lastTransitionTime\\":{},\\"f:status\\":{},\\"f:type\\":{}}},\\"f:phase\\":{},\\"f:podIP\\":{},\\"f:podIPs\\":{\\".\\":{},\\"k:{\\\\\\"ip\\\\\\":\\\\\\"IP\\\\\\"}\\":{\\".\\":{},\\"f:ip\\":{}}}}}",
    ]
  `);
  expect(
    await api.apply(`${core}/pods/none/status`, "alice", { apiVersion: "v1", kind: "Pod", metadata: { name: "none" } }),
  ).toMatchInlineSnapshot(`404 Failure {details: {kind: "pods", name: "none"}, message: 'pods "none" not found', reason: "NotFound"}`);
  await api.patch("merge", `${core}/pods/web`, { metadata: { finalizers: null } });
  await api.delete(`${core}/pods/web?gracePeriodSeconds=0`);
});

test("kubectl takes over what it applied on the client's side", async ({ api, core }) => {
  const path = `${core}/configmaps/settings`;
  const last = JSON.stringify({ apiVersion: "v1", kind: "ConfigMap", metadata: { name: "settings" }, data: { a: "1", b: "1" } });
  const annotations = { "kubectl.kubernetes.io/last-applied-configuration": last };
  await api.request("POST", `${core}/configmaps?fieldManager=kubectl-client-side-apply`, {
    body: configMap({ a: "1", b: "1" }, { annotations }),
  });
  await api.patch("merge", `${path}?fieldManager=other`, { data: { b: "2" } });
  expect(await api.apply(path, "kubectl", configMap({ a: "5", b: "5" }))).toMatchInlineSnapshot(`
    409 Failure {
      details: {causes: [{field: ".data.b", message: 'conflict with "other" using v1', reason: "FieldManagerConflict"}]},
      message: 'Apply failed with 1 conflict: conflict with "other" using v1: .data.b',
      reason: "Conflict",
    }
  `);
  const taken = await api.apply(path, "kubectl", configMap({ a: "5" }));
  expect(taken).toMatchInlineSnapshot(`
    200 {
      apiVersion: "v1",
      data: {a: "5", b: "2"},
      kind: "ConfigMap",
      metadata: {
        annotations: {
          kubectl.kubernetes.io/last-applied-configuration: "{\\"apiVersion\\":\\"v1\\",\\"data\\":{\\"a\\":\\"5\\"},\\"kind\\":\\"ConfigMap\\",\\"metadata\\":{\\"name\\":\\"settings\\"}}\\nDIFFERENCE",
        },
        creationTimestamp: "TIME",
        name: "settings",
        namespace: "NAMESPACE",
        resourceVersion: VERSION,
        uid: "UID",
      },
    }
  `);
  expect(managersOf(taken.body)).toMatchInlineSnapshot(`
    [
      'kubectl Apply v1 {"f:data":{"f:a":{}}}',
      'kubectl-client-side-apply Update v1 {"f:data":{},"f:metadata":{"f:annotations":{".":{},"f:kubectl.kubernetes.io/last-applied-configuration":{}}}}',
      'other Update v1 {"f:data":{"f:b":{}}}',
    ]
  `);
});

test("the fields of services, nodes, claims and other kinds have the real owners", async ({ api, core, apps, namespace }) => {
  const objects: Record<string, object> = {
    [`${core}/services`]: {
      metadata: { name: "s" },
      spec: {
        ports: [
          { port: 80, name: "a" },
          { port: 81, name: "b" },
        ],
        selector: { a: "b" },
      },
    },
    [`${core}/persistentvolumeclaims`]: {
      metadata: { name: "c" },
      spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } },
    },
    [`${core}/secrets`]: { metadata: { name: "s" }, data: { a: "YQ==" } },
    [`${core}/serviceaccounts`]: { metadata: { name: "sa" }, secrets: [{ name: "x" }] },
    [`/apis/rbac.authorization.k8s.io/v1/namespaces/${namespace}/roles`]: {
      metadata: { name: "r" },
      rules: [{ apiGroups: [""], resources: ["pods"], verbs: ["get"] }],
    },
    [`/apis/batch/v1/namespaces/${namespace}/cronjobs`]: {
      metadata: { name: "j" },
      spec: {
        schedule: "0 0 1 1 *",
        suspend: true,
        jobTemplate: { spec: { template: { spec: { restartPolicy: "Never", containers: [{ name: "c", image: "i" }] } } } },
      },
    },
    [`/apis/networking.k8s.io/v1/namespaces/${namespace}/ingresses`]: {
      metadata: { name: "i" },
      spec: {
        rules: [
          { host: "a.b", http: { paths: [{ path: "/", pathType: "Prefix", backend: { service: { name: "s", port: { number: 80 } } } }] } },
        ],
      },
    },
    [`/apis/policy/v1/namespaces/${namespace}/poddisruptionbudgets`]: {
      metadata: { name: "p" },
      spec: { minAvailable: 1, selector: { matchLabels: { a: "b" } } },
    },
    [`${apps}/statefulsets`]: {
      metadata: {
        name: "ss",
        ownerReferences: [{ apiVersion: "v1", kind: "Pod", name: "x", uid: "01234567-89ab-cdef-0123-456789abcdef" }],
      },
      spec: {
        replicas: 0,
        serviceName: "s",
        selector: { matchLabels: { a: "b" } },
        template: { metadata: { labels: { a: "b" } }, spec: { containers: [{ name: "c", image: "i" }] } },
        volumeClaimTemplates: [
          { metadata: { name: "d" }, spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } } },
        ],
      },
    },
    [`${core}/resourcequotas`]: { metadata: { name: "q" }, spec: { hard: { pods: "10" } } },
  };
  const managers: Record<string, string[]> = {};
  for (const [path, body] of Object.entries(objects)) {
    const answer = await eventually(async () => {
      const got = await api.request("POST", `${path}?dryRun=All&fieldManager=m`, { body });
      // Another file has a default class of ingresses for a moment.
      expect(got.body.spec?.ingressClassName).toBeUndefined();
      return got;
    });
    expect({ path, status: answer.status, problem: answer.body.message }).toEqual({ path, status: 201, problem: undefined });
    managers[answer.body.kind] = managersOf(answer.body);
  }
  expect(managers).toMatchInlineSnapshot(`
    {
      CronJob: [
        "m Update batch/v1 {\\"f:spec\\":{\\"f:concurrencyPolicy\\":{},\\"f:failedJobsHistoryLimit\\":{},\\"f:jobTemplate\\":{\\"f:spec\\":{\\"f:template\\":{\\"f:spec\\":{\\"f:containers\\":{\\"k:{\\\\\\"name\\\\\\":\\\\\\"c\\\\\\"}\\":{\\".\\":{},\\"f:image\\":{},\\"f:imagePullPolicy\\":{},\\"f:name\\":{},\\"f:resources\\":{},\\"f:terminationMessagePath\\":{},\\"f:terminationMessagePolicy\\":{}}},\\"f:dnsPolicy\\":{},\\"f:restartPolicy\\":{},\\"f:schedulerName\\":{},\\"f:securityContext\\":{},\\"f:terminationGracePeriodSeconds\\":{}}}}},\\"f:schedule\\":{},\\"f:successfulJobsHistoryLimit\\":{},\\"f:suspend\\":{}}}",
      ],
      Ingress: ['m Update networking.k8s.io/v1 {"f:spec":{"f:rules":{}}}'],
      PersistentVolumeClaim: ['m Update v1 {"f:spec":{"f:accessModes":{},"f:resources":{"f:requests":{".":{},"f:storage":{}}},"f:volumeMode":{}}}'],
      PodDisruptionBudget: ['m Update policy/v1 {"f:spec":{"f:minAvailable":{},"f:selector":{}}}'],
      ResourceQuota: ['m Update v1 {"f:spec":{"f:hard":{".":{},"f:pods":{}}}}'],
      Role: ['m Update rbac.authorization.k8s.io/v1 {"f:rules":{}}'],
      Secret: ['m Update v1 {"f:data":{".":{},"f:a":{}},"f:type":{}}'],
      Service: [
        "m Update v1 {\\"f:spec\\":{\\"f:internalTrafficPolicy\\":{},\\"f:ports\\":{\\".\\":{},\\"k:{\\\\\\"port\\\\\\":80,\\\\\\"protocol\\\\\\":\\\\\\"TCP\\\\\\"}\\":{\\".\\":{},\\"f:name\\":{},\\"f:port\\":{},\\"f:protocol\\":{},\\"f:targetPort\\":{}},\\"k:{\\\\\\"port\\\\\\":81,\\\\\\"protocol\\\\\\":\\\\\\"TCP\\\\\\"}\\":{\\".\\":{},\\"f:name\\":{},\\"f:port\\":{},\\"f:protocol\\":{},\\"f:targetPort\\":{}}},\\"f:selector\\":{},\\"f:sessionAffinity\\":{},\\"f:type\\":{}}}",
      ],
      ServiceAccount: ["m Update v1 {\\"f:secrets\\":{\\".\\":{},\\"k:{\\\\\\"name\\\\\\":\\\\\\"x\\\\\\"}\\":{}}}"],
      StatefulSet: [
        "m Update apps/v1 {\\"f:metadata\\":{\\"f:ownerReferences\\":{\\".\\":{},\\"k:{\\\\\\"uid\\\\\\":\\\\\\"UID\\\\\\"}\\":{}}},\\"f:spec\\":{\\"f:persistentVolumeClaimRetentionPolicy\\":{\\".\\":{},\\"f:whenDeleted\\":{},\\"f:whenScaled\\":{}},\\"f:podManagementPolicy\\":{},\\"f:replicas\\":{},\\"f:revisionHistoryLimit\\":{},\\"f:selector\\":{},\\"f:serviceName\\":{},\\"f:template\\":{\\"f:metadata\\":{\\"f:labels\\":{\\".\\":{},\\"f:a\\":{}}},\\"f:spec\\":{\\"f:containers\\":{\\"k:{\\\\\\"name\\\\\\":\\\\\\"c\\\\\\"}\\":{\\".\\":{},\\"f:image\\":{},\\"f:imagePullPolicy\\":{},\\"f:name\\":{},\\"f:resources\\":{},\\"f:terminationMessagePath\\":{},\\"f:terminationMessagePolicy\\":{}}},\\"f:dnsPolicy\\":{},\\"f:restartPolicy\\":{},\\"f:schedulerName\\":{},\\"f:securityContext\\":{},\\"f:terminationGracePeriodSeconds\\":{}}},\\"f:updateStrategy\\":{\\"f:rollingUpdate\\":{\\".\\":{},\\"f:partition\\":{}},\\"f:type\\":{}},\\"f:volumeClaimTemplates\\":{}}}",
      ],
    }
  `);
});

test("a scale has managers, who own the replicas of the object", async ({ api, core, apps }) => {
  // No pods, which the scheduler could bind to a node of another file.
  await api.create(`${core}/resourcequotas`, { metadata: { name: "none" }, spec: { hard: { pods: "0" } } });
  const path = `${apps}/deployments/web`;
  const ofPeople = (answer: { body: object }): string[] =>
    managersOf(answer.body as never).filter((manager) => !manager.startsWith("kube-"));
  await api.apply(path, "alice", deployment());
  const scaled = await api.patch("merge", `${path}/scale?fieldManager=bob`, { spec: { replicas: 0 } });
  expect(scaled.body.metadata.managedFields).toBeUndefined();
  expect(ofPeople(await api.get(path))).toMatchInlineSnapshot(`
    [
      "alice Apply apps/v1 {\\"f:metadata\\":{\\"f:labels\\":{\\"f:app\\":{}}},\\"f:spec\\":{\\"f:replicas\\":{},\\"f:selector\\":{},\\"f:template\\":{\\"f:metadata\\":{\\"f:labels\\":{\\"f:app\\":{}}},\\"f:spec\\":{\\"f:containers\\":{\\"k:{\\\\\\"name\\\\\\":\\\\\\"c\\\\\\"}\\":{\\".\\":{},\\"f:image\\":{},\\"f:name\\":{}}}}}}}",
    ]
  `);
  await api.patch("merge", `${path}/scale?fieldManager=bob`, { spec: { replicas: 1 } });
  expect(ofPeople(await api.get(path))).toMatchInlineSnapshot(`
    [
      "alice Apply apps/v1 {\\"f:metadata\\":{\\"f:labels\\":{\\"f:app\\":{}}},\\"f:spec\\":{\\"f:selector\\":{},\\"f:template\\":{\\"f:metadata\\":{\\"f:labels\\":{\\"f:app\\":{}}},\\"f:spec\\":{\\"f:containers\\":{\\"k:{\\\\\\"name\\\\\\":\\\\\\"c\\\\\\"}\\":{\\".\\":{},\\"f:image\\":{},\\"f:name\\":{}}}}}}}",
      'bob Update apps/v1 scale without time {"f:spec":{"f:replicas":{}}}',
    ]
  `);
  const scale = { apiVersion: "autoscaling/v1", kind: "Scale", metadata: { name: "web" }, spec: { replicas: 2 } };
  expect(await api.apply(`${path}/scale`, "carol", scale)).toMatchInlineSnapshot(`
    409 Failure {
      details: {
        causes: [
          {
            field: ".spec.replicas",
            message: 'conflict with "bob" with subresource "scale" using autoscaling/v1',
            reason: "FieldManagerConflict",
          },
        ],
      },
      message: 'Apply failed with 1 conflict: conflict with "bob" with subresource "scale" using autoscaling/v1: .spec.replicas',
      reason: "Conflict",
    }
  `);
  const forced = await api.apply(`${path}/scale`, "carol&force=true", scale);
  expect([forced.status, forced.body.kind, forced.body.spec]).toMatchInlineSnapshot(`[200, "Scale", {replicas: 2}]`);
  expect(ofPeople(await api.get(path))).toMatchInlineSnapshot(`
    [
      "alice Apply apps/v1 {\\"f:metadata\\":{\\"f:labels\\":{\\"f:app\\":{}}},\\"f:spec\\":{\\"f:selector\\":{},\\"f:template\\":{\\"f:metadata\\":{\\"f:labels\\":{\\"f:app\\":{}}},\\"f:spec\\":{\\"f:containers\\":{\\"k:{\\\\\\"name\\\\\\":\\\\\\"c\\\\\\"}\\":{\\".\\":{},\\"f:image\\":{},\\"f:name\\":{}}}}}}}",
      'carol Apply apps/v1 scale without time {"f:spec":{"f:replicas":{}}}',
    ]
  `);
  const put = await api.put(`${path}/scale?fieldManager=dave`, {
    ...forced.body,
    // The Deployment's controller may have written by now.
    metadata: { ...forced.body.metadata, resourceVersion: "" },
    spec: { replicas: 3 },
  });
  expect(put.status).toBe(200);
  expect(ofPeople(await api.get(path))).toMatchInlineSnapshot(`
    [
      "alice Apply apps/v1 {\\"f:metadata\\":{\\"f:labels\\":{\\"f:app\\":{}}},\\"f:spec\\":{\\"f:selector\\":{},\\"f:template\\":{\\"f:metadata\\":{\\"f:labels\\":{\\"f:app\\":{}}},\\"f:spec\\":{\\"f:containers\\":{\\"k:{\\\\\\"name\\\\\\":\\\\\\"c\\\\\\"}\\":{\\".\\":{},\\"f:image\\":{},\\"f:name\\":{}}}}}}}",
      'dave Update apps/v1 scale without time {"f:spec":{"f:replicas":{}}}',
    ]
  `);
  expect(await api.apply(path, "alice", deployment({ replicas: 5 }))).toMatchInlineSnapshot(`
    409 Failure {
      details: {
        causes: [
          {
            field: ".spec.replicas",
            message: 'conflict with "dave" with subresource "scale" using apps/v1',
            reason: "FieldManagerConflict",
          },
        ],
      },
      message: 'Apply failed with 1 conflict: conflict with "dave" with subresource "scale" using apps/v1: .spec.replicas',
      reason: "Conflict",
    }
  `);
  expect(await api.apply(`${apps}/deployments/none/scale`, "carol", scale)).toMatchInlineSnapshot(
    `404 Failure {details: {group: "apps", kind: "deployments", name: "none"}, message: 'deployments.apps "none" not found', reason: "NotFound"}`,
  );
});
