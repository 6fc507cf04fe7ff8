import { eventually } from "@virtual-kubelet/testing";
import { expect } from "vitest";
import type { Answer } from "./support/api.ts";
import { podNamed } from "./support/objects.ts";
import { test } from "./support/parity-test.ts";

/** Kinds that are stored without effect, with a minimal object of each. */
const samples: Readonly<Record<string, object>> = {
  "/api/v1 endpoints": {
    subsets: [
      {
        addresses: [{ ip: "1.2.3.4" }, { ip: "1.2.3.5" }],
        ports: [
          { name: "a", port: 80 },
          { name: "b", port: 81 },
        ],
      },
    ],
  },
  "/api/v1 limitranges": {
    spec: { limits: [{ type: "Container", max: { cpu: "1" }, min: { cpu: "0.1", memory: "1Mi" } }, { type: "Pod" }] },
  },
  "/api/v1 resourcequotas": { spec: {} },
  "/apis/admissionregistration.k8s.io/v1 mutatingwebhookconfigurations": {
    webhooks: [
      {
        name: "a.example.com",
        admissionReviewVersions: ["v1"],
        sideEffects: "None",
        failurePolicy: "Ignore",
        clientConfig: { service: { namespace: "nowhere", name: "b" } },
        rules: [{ apiGroups: ["example.com"], apiVersions: ["v1"], operations: ["CREATE"], resources: ["nothings"] }],
      },
    ],
  },
  "/apis/admissionregistration.k8s.io/v1 validatingwebhookconfigurations": {
    webhooks: [
      {
        name: "a.example.com",
        admissionReviewVersions: ["v1"],
        sideEffects: "None",
        failurePolicy: "Ignore",
        clientConfig: { url: "https://nowhere.invalid/a" },
        rules: [{ apiGroups: ["example.com"], apiVersions: ["v1"], operations: ["CREATE"], resources: ["nothings"], scope: "Namespaced" }],
      },
    ],
  },
  "/apis/admissionregistration.k8s.io/v1 validatingadmissionpolicybindings": { spec: { policyName: "a", validationActions: ["Deny"] } },
  "/apis/autoscaling/v2 horizontalpodautoscalers": {
    spec: {
      scaleTargetRef: { apiVersion: "apps/v1", kind: "Deployment", name: "none" },
      maxReplicas: 3,
      behavior: { scaleDown: { selectPolicy: "Min" } },
    },
  },
  "/apis/discovery.k8s.io/v1 endpointslices": {
    addressType: "IPv4",
    endpoints: [{ addresses: ["1.2.3.4"] }, { addresses: ["1.2.3.5"] }, { addresses: ["1.2.3.6"] }, { addresses: ["1.2.3.7"] }],
    ports: [{ port: 80 }],
  },
  "/apis/networking.k8s.io/v1 ingresses": {
    spec: {
      ingressClassName: "a",
      rules: [
        {
          host: "a.example.com",
          http: { paths: [{ path: "/", pathType: "Prefix", backend: { service: { name: "b", port: { number: 80 } } } }] },
        },
      ],
    },
  },
  "/apis/networking.k8s.io/v1 ingressclasses": {
    spec: { controller: "example.com/a", parameters: { kind: "K", name: "p", apiGroup: "example.com" } },
  },
  "/apis/networking.k8s.io/v1 networkpolicies": { spec: { podSelector: { matchLabels: { a: "b" } }, egress: [{ ports: [{ port: 53 }] }] } },
  "/apis/node.k8s.io/v1 runtimeclasses": { handler: "runc", overhead: { podFixed: { cpu: "100m" } } },
  "/apis/scheduling.k8s.io/v1 priorityclasses": { value: 100, description: "d" },
  "/apis/storage.k8s.io/v1 csidrivers": { spec: { tokenRequests: [{ audience: "a" }] } },
  "/apis/storage.k8s.io/v1 csinodes": { spec: { drivers: [{ name: "d", nodeID: "n" }] } },
  "/apis/storage.k8s.io/v1 csistoragecapacities": { storageClassName: "s", capacity: "1Gi" },
  "/apis/storage.k8s.io/v1 volumeattachments": { spec: { attacher: "d", nodeName: "nobody", source: { persistentVolumeName: "p" } } },
  "/apis/resource.k8s.io/v1 deviceclasses": { spec: {} },
  "/apis/resource.k8s.io/v1 resourceclaims": { spec: { devices: { requests: [{ name: "r", exactly: { deviceClassName: "c" } }] } } },
};

const table = { accept: "application/json;as=Table;v=v1;g=meta.k8s.io" };

interface Place {
  readonly prefix: string;
  readonly plural: string;
}

function placeOf(key: string): Place {
  const [prefix = "", plural = ""] = key.split(" ");
  return { prefix, plural };
}

for (const [key, sample] of Object.entries(samples)) {
  const { prefix, plural } = placeOf(key);

  test(`${plural} are described, stored with their defaults, shown, and deleted`, async ({ api, namespace }) => {
    const { body } = await api.get(prefix);
    const described = body.resources
      .filter(({ name }: { name: string }) => name === plural || name === `${plural}/status`)
      .map((resource: object) => ({ ...resource, storageVersionHash: undefined }));
    expect(described).toMatchSnapshot("described");
    const collection = described[0].namespaced === true ? `${prefix}/namespaces/${namespace}/${plural}` : `${prefix}/${plural}`;
    const created = await api.post(collection, { metadata: { name: namespace }, ...sample });
    expect(created).toMatchSnapshot("created");
    const shown = await api.get(`${collection}/${namespace}`, table);
    const ageAt = shown.body.columnDefinitions.findIndex(({ name }: { name: string }) => name === "Age" || name === "Created At");
    expect({
      columns: shown.body.columnDefinitions.map(({ name, type, priority }: { name: string; type: string; priority: number }) => [
        name,
        type,
        priority,
      ]),
      cells: shown.body.rows[0].cells.filter((_: unknown, index: number) => index !== ageAt),
    }).toMatchSnapshot("shown");
    const labelled = await api.patch("merge", `${collection}/${namespace}`, { metadata: { labels: { a: "b" } } });
    expect([labelled.status, labelled.body.metadata.generation]).toMatchSnapshot("labelled");
    const deleted = await api.delete(`${collection}/${namespace}`);
    expect([deleted.status, deleted.body.kind]).toMatchSnapshot("deleted");
  });
}

test("immutable fields cannot be changed", async ({ api, namespace }) => {
  const change = async (key: string, patch: object): Promise<Answer> => {
    const { prefix, plural } = placeOf(key);
    await api.create(`${prefix}/${plural}`, { metadata: { name: namespace }, ...samples[key] });
    const answer = await api.patch("merge", `${prefix}/${plural}/${namespace}`, patch);
    await api.delete(`${prefix}/${plural}/${namespace}`);
    return answer;
  };

  expect(await change("/apis/scheduling.k8s.io/v1 priorityclasses", { value: 7 })).toMatchInlineSnapshot(`
    422 Failure {
      details: {
        causes: [{field: "value", message: "Forbidden: may not be changed in an update.", reason: "FieldValueForbidden"}],
        group: "scheduling.k8s.io",
        kind: "PriorityClass",
        name: "NAMESPACE",
      },
      message: 'PriorityClass.scheduling.k8s.io "NAMESPACE" is invalid: value: Forbidden: may not be changed in an update.',
      reason: "Invalid",
    }
  `);
  expect(await change("/apis/node.k8s.io/v1 runtimeclasses", { handler: "other" })).toMatchInlineSnapshot(`
    422 Failure {
      details: {
        causes: [{field: "handler", message: 'Invalid value: "other": field is immutable', reason: "FieldValueInvalid"}],
        group: "node.k8s.io",
        kind: "RuntimeClass",
        name: "NAMESPACE",
      },
      message: 'RuntimeClass.node.k8s.io "NAMESPACE" is invalid: handler: Invalid value: "other": field is immutable',
      reason: "Invalid",
    }
  `);
  expect(await change("/apis/networking.k8s.io/v1 ingressclasses", { spec: { controller: "example.com/b" } })).toMatchInlineSnapshot(`
    422 Failure {
      details: {
        causes: [{field: "spec.controller", message: 'Invalid value: "example.com/b": field is immutable', reason: "FieldValueInvalid"}],
        group: "networking.k8s.io",
        kind: "IngressClass",
        name: "NAMESPACE",
      },
      message: 'IngressClass.networking.k8s.io "NAMESPACE" is invalid: spec.controller: Invalid value: "example.com/b": field is immutable',
      reason: "Invalid",
    }
  `);
});

test("required fields are enforced", async ({ api, namespace }) => {
  const post = async (path: string, body: object): Promise<Answer> => await api.post(path, { metadata: { name: namespace }, ...body });

  expect(await post("/apis/node.k8s.io/v1/runtimeclasses", { handler: 7 })).toMatchInlineSnapshot(`
    400 Failure {
      message: 'RuntimeClass in version "v1" cannot be handled as a RuntimeClass: json: cannot unmarshal number into Go struct field RuntimeClass.handler of type string',
      reason: "BadRequest",
    }
  `);
  expect(await post(`/apis/discovery.k8s.io/v1/namespaces/${namespace}/endpointslices`, {})).toMatchInlineSnapshot(`
    422 Failure {
      details: {
        causes: [{field: "addressType", message: "Required value", reason: "FieldValueRequired"}],
        group: "discovery.k8s.io",
        kind: "EndpointSlice",
        name: "NAMESPACE",
      },
      message: 'EndpointSlice.discovery.k8s.io "NAMESPACE" is invalid: addressType: Required value',
      reason: "Invalid",
    }
  `);
  expect(await post("/apis/scheduling.k8s.io/v1/priorityclasses", { value: 2_000_000_000 })).toMatchInlineSnapshot(`
    422 Failure {
      details: {
        causes: [
          {
            field: "value",
            message: "Forbidden: maximum allowed value of a user defined priority is 1000000000",
            reason: "FieldValueForbidden",
          },
        ],
        group: "scheduling.k8s.io",
        kind: "PriorityClass",
        name: "NAMESPACE",
      },
      message: 'PriorityClass.scheduling.k8s.io "NAMESPACE" is invalid: value: Forbidden: maximum allowed value of a user defined priority is 1000000000',
      reason: "Invalid",
    }
  `);
  expect(
    await post(`/apis/autoscaling/v2/namespaces/${namespace}/horizontalpodautoscalers`, {
      spec: { scaleTargetRef: { kind: "Deployment", name: "a" }, minReplicas: 3, maxReplicas: 2 },
    }),
  ).toMatchInlineSnapshot(`
    422 Failure {
      details: {
        causes: [
          {
            field: "spec.maxReplicas",
            message: "Invalid value: 2: must be greater than or equal to \`minReplicas\`",
            reason: "FieldValueInvalid",
          },
          {
            field: "spec.scaleTargetRef.apiVersion",
            message: 'Invalid value: "": apiVersion must specify API group',
            reason: "FieldValueInvalid",
          },
        ],
        group: "autoscaling",
        kind: "HorizontalPodAutoscaler",
        name: "NAMESPACE",
      },
      message: 'HorizontalPodAutoscaler.autoscaling "NAMESPACE" is invalid: [spec.maxReplicas: Invalid value: 2: must be greater than or equal to \`minReplicas\`, spec.scaleTargetRef.apiVersion: Invalid value: "": apiVersion must specify API group]',
      reason: "Invalid",
    }
  `);
  expect((await post(`/apis/networking.k8s.io/v1/namespaces/${namespace}/ingresses`, { spec: {} })).status).toBe(422);
});

test("lists are merged by their keys", async ({ api, namespace }) => {
  const path = `/apis/discovery.k8s.io/v1/namespaces/${namespace}/endpointslices`;
  await api.create(path, { metadata: { name: "a" }, addressType: "IPv4", endpoints: [], ports: [{ name: "x", port: 1 }] });
  const ingresses = `/apis/networking.k8s.io/v1/namespaces/${namespace}/ingresses`;
  await api.create(ingresses, { metadata: { name: "a" }, ...samples["/apis/networking.k8s.io/v1 ingresses"] });
  const replaced = await api.patch("strategic", `${path}/a`, { ports: [{ name: "y", port: 2 }] });
  const rules = await api.patch("strategic", `${ingresses}/a`, { spec: { rules: [{ host: "b.example.com" }] } });

  expect(replaced.body.ports).toMatchInlineSnapshot(`[{name: "y", port: 2, protocol: "TCP"}]`);
  expect(rules.body.spec.rules).toMatchInlineSnapshot(`[{host: "b.example.com"}]`);
});

test("a cluster has the two system priority classes", async ({ api }) => {
  const { items } = (await api.get("/apis/scheduling.k8s.io/v1/priorityclasses")).body;
  expect(items.filter(({ metadata }: { metadata: { name: string } }) => metadata.name.startsWith("system-"))).toMatchSnapshot("classes");
  expect(await api.delete("/apis/scheduling.k8s.io/v1/priorityclasses/system-node-critical")).toMatchInlineSnapshot(`
    403 Failure {
      details: {group: "scheduling.k8s.io", kind: "priorityclasses", name: "system-node-critical"},
      message: 'priorityclasses.scheduling.k8s.io "system-node-critical" is forbidden: this is a system priority class and cannot be deleted',
      reason: "Forbidden",
    }
  `);
});

test("a pod inherits fields from its classes", async ({ api, core, namespace }) => {
  await api.create("/apis/scheduling.k8s.io/v1/priorityclasses", { metadata: { name: namespace }, value: 42, preemptionPolicy: "Never" });
  await api.create("/apis/node.k8s.io/v1/runtimeclasses", {
    metadata: { name: namespace },
    handler: "h",
    overhead: { podFixed: { cpu: "100m" } },
    scheduling: { nodeSelector: { os: "x" }, tolerations: [{ key: "k", operator: "Exists" }] },
  });
  const { body } = await eventually(async () => {
    const answer = await api.post(`${core}/pods`, podNamed("a", { priorityClassName: namespace, runtimeClassName: namespace }));
    // The real server's admission learns of a class a moment later.
    expect(answer.status).toBe(201);
    return answer;
  });
  const { priority, preemptionPolicy, overhead, nodeSelector, tolerations } = body.spec;

  expect({ priority, preemptionPolicy, overhead, nodeSelector, tolerations }).toMatchInlineSnapshot(`
    {
      nodeSelector: {os: "x"},
      overhead: {cpu: "100m"},
      preemptionPolicy: "Never",
      priority: 42,
      tolerations: [
        {effect: "NoExecute", key: "node.kubernetes.io/not-ready", operator: "Exists", tolerationSeconds: 300},
        {effect: "NoExecute", key: "node.kubernetes.io/unreachable", operator: "Exists", tolerationSeconds: 300},
        {key: "k", operator: "Exists"},
      ],
    }
  `);
  expect(await api.post(`${core}/pods`, podNamed("b", { runtimeClassName: "none" }))).toMatchInlineSnapshot(`
    403 Failure {
      details: {kind: "pods", name: "b"},
      message: 'pods "b" is forbidden: pod rejected: RuntimeClass "none" not found',
      reason: "Forbidden",
    }
  `);
  expect(await api.post(`${core}/pods`, podNamed("c", { priorityClassName: "none" }))).toMatchInlineSnapshot(`
    403 Failure {
      details: {kind: "pods", name: "c"},
      message: 'pods "c" is forbidden: no PriorityClass with name none was found',
      reason: "Forbidden",
    }
  `);
  expect(await api.post(`${core}/pods`, podNamed("d", { priorityClassName: namespace, priority: 7 }))).toMatchInlineSnapshot(`
    403 Failure {
      details: {kind: "pods", name: "d"},
      message: 'pods "d" is forbidden: the integer value of priority (7) must not be provided in pod spec; priority admission controller computed 42 from the given PriorityClass name',
      reason: "Forbidden",
    }
  `);
  expect(await api.post(`${core}/pods`, podNamed("e", { runtimeClassName: namespace, nodeSelector: { os: "y" } }))).toMatchInlineSnapshot(`
    403 Failure {
      details: {kind: "pods", name: "e"},
      message: 'pods "e" is forbidden: conflict: runtimeClass.scheduling.nodeSelector[os] = x; pod.spec.nodeSelector[os] = y',
      reason: "Forbidden",
    }
  `);
  expect(await api.post(`${core}/pods`, podNamed("f", { runtimeClassName: namespace, overhead: { cpu: "1" } }))).toMatchInlineSnapshot(`
    403 Failure {
      details: {kind: "pods", name: "f"},
      message: "pods \\"f\\" is forbidden: pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead",
      reason: "Forbidden",
    }
  `);
  await api.delete(`/apis/scheduling.k8s.io/v1/priorityclasses/${namespace}`);
  await api.delete(`/apis/node.k8s.io/v1/runtimeclasses/${namespace}`);
});
