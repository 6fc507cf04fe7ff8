import { expect } from "vitest";
import { podNamed } from "./support/objects.ts";
import { test } from "./support/parity-test.ts";

test("a write of the main resource does not change the status", async ({ api, core }) => {
  const pod = await api.create(`${core}/pods`, podNamed("web", { nodeName: "n1" }));
  await api.patch("merge", `${core}/pods/web/status`, { status: { phase: "Running", message: "m" } });
  const put = await api.put(`${core}/pods/web`, { ...pod, metadata: { name: "web", labels: { a: "b" } }, status: { phase: "Failed" } });
  const patched = await api.patch("merge", `${core}/pods/web`, { metadata: { labels: { c: "d" } }, status: { phase: "Failed" } });

  expect(put.status).toBe(200);
  expect(put.body.status).toMatchInlineSnapshot(`{message: "m", phase: "Running", qosClass: "BestEffort"}`);
  expect(patched.body.status).toEqual(put.body.status);
});

test("a status write does not change spec and labels", async ({ api, core }) => {
  const pod = await api.create(`${core}/pods`, podNamed("web", { nodeName: "n1" }, { labels: { a: "b" } }));
  const { status, body } = await api.put(`${core}/pods/web/status`, {
    ...pod,
    metadata: { name: "web", labels: { a: "c", d: "e" }, annotations: { f: "g" } },
    spec: { ...pod.spec, activeDeadlineSeconds: 5, containers: [{ name: "other", image: "other" }] },
    status: { phase: "Running" },
  });

  expect(status).toBe(200);
  expect(body.spec).toEqual(pod.spec);
  expect(body.metadata.labels).toEqual({ a: "c", d: "e" });
  expect(body.metadata.annotations).toEqual({ f: "g" });
  expect(body.status).toMatchInlineSnapshot(`{phase: "Running", qosClass: "BestEffort"}`);
});

test("GET of the status returns the complete object", async ({ api, core }) => {
  const pod = await api.create(`${core}/pods`, podNamed("web"));

  expect((await api.get(`${core}/pods/web/status`)).body).toEqual(pod);
});

test("a status write that changes nothing keeps the resourceVersion", async ({ api, core }) => {
  await api.create(`${core}/pods`, podNamed("web", { nodeName: "n1" }));
  const first = await api.patch("strategic", `${core}/pods/web/status`, { status: { phase: "Running" } });

  expect((await api.patch("strategic", `${core}/pods/web/status`, { status: { phase: "Running" } })).body).toEqual(first.body);
});

test("a pod status with invalid fields is refused", async ({ api, core }) => {
  await api.create(`${core}/pods`, podNamed("web", { nodeName: "n1", restartPolicy: "Never" }));
  const patch = (status: object): Promise<unknown> => api.patch("merge", `${core}/pods/web/status`, { status });
  const containerStatus = { name: "main", image: "main:1", imageID: "", ready: false, restartCount: 0 };

  expect(await patch({ conditions: [{ type: "not ok!", status: "True" }] })).toMatchInlineSnapshot(`
    422 Failure {
      details: {
        causes: [
          {
            field: "status.conditions[0].Type",
            message: "Invalid value: \\"not ok!\\": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')",
            reason: "FieldValueInvalid",
          },
        ],
        kind: "Pod",
        name: "web",
      },
      message: "Pod \\"web\\" is invalid: status.conditions[0].Type: Invalid value: \\"not ok!\\": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')",
      reason: "Invalid",
    }
  `);
  expect(await patch({ podIPs: [{ ip: "999.1.1.1" }] })).toMatchInlineSnapshot(`
    422 Failure {
      details: {
        causes: [
          {
            field: "status.podIPs[0]",
            message: 'Invalid value: "999.1.1.1": must be a valid IP address, (e.g. IP or 2001:db8::ffff)',
            reason: "FieldValueInvalid",
          },
        ],
        kind: "Pod",
        name: "web",
      },
      message: 'Pod "web" is invalid: status.podIPs[0]: Invalid value: "999.1.1.1": must be a valid IP address, (e.g. IP or 2001:db8::ffff)',
      reason: "Invalid",
    }
  `);
  expect(await patch({ podIP: "192.168.1.1", podIPs: [{ ip: "192.168.1.2" }] })).toMatchInlineSnapshot(`
    200 {
      apiVersion: "v1",
      kind: "Pod",
      metadata: {
        creationTimestamp: "TIME",
        generation: 1,
        name: "web",
        namespace: "NAMESPACE",
        resourceVersion: VERSION,
        uid: "UID",
      },
      spec: {
        automountServiceAccountToken: false,
        containers: [
          {
            image: "main:1",
            imagePullPolicy: "IfNotPresent",
            name: "main",
            resources: {},
            terminationMessagePath: "/dev/termination-log",
            terminationMessagePolicy: "File",
          },
        ],
        dnsPolicy: "ClusterFirst",
        enableServiceLinks: true,
        nodeName: "n1",
        preemptionPolicy: "PreemptLowerPriority",
        priority: 0,
        restartPolicy: "Never",
        schedulerName: "nobody",
        securityContext: {},
        serviceAccount: "default",
        serviceAccountName: "default",
        terminationGracePeriodSeconds: 30,
        tolerations: [
          {effect: "NoExecute", key: "node.kubernetes.io/not-ready", operator: "Exists", tolerationSeconds: 300},
          {effect: "NoExecute", key: "node.kubernetes.io/unreachable", operator: "Exists", tolerationSeconds: 300},
        ],
      },
      status: {phase: "Pending", podIP: "192.168.1.1", podIPs: [{ip: "192.168.1.1"}], qosClass: "BestEffort"},
    }
  `);
  expect(await patch({ hostIP: "nowhere" })).toMatchInlineSnapshot(`
    200 {
      apiVersion: "v1",
      kind: "Pod",
      metadata: {
        creationTimestamp: "TIME",
        generation: 1,
        name: "web",
        namespace: "NAMESPACE",
        resourceVersion: VERSION,
        uid: "UID",
      },
      spec: {
        automountServiceAccountToken: false,
        containers: [
          {
            image: "main:1",
            imagePullPolicy: "IfNotPresent",
            name: "main",
            resources: {},
            terminationMessagePath: "/dev/termination-log",
            terminationMessagePolicy: "File",
          },
        ],
        dnsPolicy: "ClusterFirst",
        enableServiceLinks: true,
        nodeName: "n1",
        preemptionPolicy: "PreemptLowerPriority",
        priority: 0,
        restartPolicy: "Never",
        schedulerName: "nobody",
        securityContext: {},
        serviceAccount: "default",
        serviceAccountName: "default",
        terminationGracePeriodSeconds: 30,
        tolerations: [
          {effect: "NoExecute", key: "node.kubernetes.io/not-ready", operator: "Exists", tolerationSeconds: 300},
          {effect: "NoExecute", key: "node.kubernetes.io/unreachable", operator: "Exists", tolerationSeconds: 300},
        ],
      },
      status: {hostIP: "nowhere", phase: "Pending", podIP: "192.168.1.1", podIPs: [{ip: "192.168.1.1"}], qosClass: "BestEffort"},
    }
  `);
  expect(await patch({ qosClass: "Guaranteed" })).toMatchInlineSnapshot(`
    422 Failure {
      details: {
        causes: [{field: "status.qosClass", message: 'Invalid value: "Guaranteed": field is immutable', reason: "FieldValueInvalid"}],
        kind: "Pod",
        name: "web",
      },
      message: 'Pod "web" is invalid: status.qosClass: Invalid value: "Guaranteed": field is immutable',
      reason: "Invalid",
    }
  `);
  expect(await patch({ nominatedNodeName: "NOT ok" })).toMatchInlineSnapshot(`
    422 Failure {
      details: {
        causes: [
          {
            field: "status.nominatedNodeName",
            message: "Invalid value: \\"NOT ok\\": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
            reason: "FieldValueInvalid",
          },
          {
            field: "status.nominatedNodeName",
            message: "Forbidden: may not be set on pods that are already bound to a node",
            reason: "FieldValueForbidden",
          },
        ],
        kind: "Pod",
        name: "web",
      },
      message: "Pod \\"web\\" is invalid: [status.nominatedNodeName: Invalid value: \\"NOT ok\\": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*'), status.nominatedNodeName: Forbidden: may not be set on pods that are already bound to a node]",
      reason: "Invalid",
    }
  `);
  await patch({ phase: "Failed", containerStatuses: [{ ...containerStatus, state: { terminated: { exitCode: 1 } } }] });
  expect(await patch({ containerStatuses: [{ ...containerStatus, state: { running: {} } }] })).toMatchInlineSnapshot(`
    422 Failure {
      details: {
        causes: [
          {
            field: "status.containerStatuses[0].state",
            message: "Forbidden: may not be transitioned to non-terminated state",
            reason: "FieldValueForbidden",
          },
        ],
        kind: "Pod",
        name: "web",
      },
      message: 'Pod "web" is invalid: status.containerStatuses[0].state: Forbidden: may not be transitioned to non-terminated state',
      reason: "Invalid",
    }
  `);
});

test("a status write stores addresses, conditions and container statuses", async ({ api, core }) => {
  await api.create(`${core}/pods`, podNamed("web", { nodeName: "n1" }));
  const { body } = await api.patch("merge", `${core}/pods/web/status`, {
    status: {
      phase: "Running",
      hostIP: "192.168.0.1",
      hostIPs: [{ ip: "192.168.0.1" }],
      podIP: "192.168.1.1",
      podIPs: [{ ip: "192.168.1.1" }],
      startTime: "2026-01-01T00:00:00Z",
      conditions: [
        { type: "Ready", status: "True", lastProbeTime: null, lastTransitionTime: "2026-01-01T00:00:00Z", observedGeneration: 1 },
      ],
      containerStatuses: [
        {
          name: "main",
          image: "main:1",
          imageID: "sha256:1",
          containerID: "pretend://1",
          ready: true,
          started: true,
          restartCount: 2,
          state: { running: { startedAt: "2026-01-01T00:00:00Z" } },
          lastState: { terminated: { exitCode: 1, reason: "Error", startedAt: null, finishedAt: "2026-01-01T00:00:00Z" } },
        },
      ],
    },
  });

  expect(body.status).toMatchInlineSnapshot(`
    {
      conditions: [{lastProbeTime: null, lastTransitionTime: "TIME", observedGeneration: 1, status: "True", type: "Ready"}],
      containerStatuses: [
        {
          containerID: "pretend://1",
          image: "main:1",
          imageID: "sha256:1",
          lastState: {terminated: {exitCode: 1, finishedAt: "TIME", reason: "Error", startedAt: null}},
          name: "main",
          ready: true,
          restartCount: 2,
          started: true,
          state: {running: {startedAt: "TIME"}},
        },
      ],
      hostIP: "192.168.0.1",
      hostIPs: [{ip: "192.168.0.1"}],
      phase: "Running",
      podIP: "192.168.1.1",
      podIPs: [{ip: "192.168.1.1"}],
      qosClass: "BestEffort",
      startTime: "TIME",
    }
  `);
});

test("podIP is derived from podIPs, and vice versa", async ({ api, core }) => {
  for (const name of "ab") await api.create(`${core}/pods`, podNamed(name, { nodeName: "n1" }));

  expect((await api.patch("merge", `${core}/pods/a/status`, { status: { podIP: "192.168.1.1" } })).body.status.podIPs).toEqual([
    { ip: "192.168.1.1" },
  ]);
  expect(
    (await api.patch("merge", `${core}/pods/b/status`, { status: { podIPs: [{ ip: "192.168.1.2" }] } })).body.status,
  ).toMatchInlineSnapshot(`{phase: "Pending", podIP: "192.168.1.2", podIPs: [{ip: "192.168.1.2"}], qosClass: "BestEffort"}`);
});

test("a node's status write does not change the spec, and a main write does not change the status", async ({ api, namespace: name }) => {
  await api.create("/api/v1/nodes", { metadata: { name }, spec: { unschedulable: true } });
  try {
    const status = { capacity: { cpu: "4", memory: "8Gi", pods: "100" }, nodeInfo: { kubeletVersion: "v1.36.3" } };
    const written = await api.patch("strategic", `/api/v1/nodes/${name}/status`, { spec: { unschedulable: false }, status });
    expect(written.body.spec.unschedulable).toBe(true);
    expect(written.body.status).toMatchInlineSnapshot(`
      {
        allocatable: {cpu: "4", memory: "8Gi", pods: "100"},
        capacity: {cpu: "4", memory: "8Gi", pods: "100"},
        daemonEndpoints: {kubeletEndpoint: {Port: 0}},
        nodeInfo: {
          architecture: "",
          bootID: "",
          containerRuntimeVersion: "",
          kernelVersion: "",
          kubeProxyVersion: "",
          kubeletVersion: "v1.36.3",
          machineID: "",
          operatingSystem: "",
          osImage: "",
          systemUUID: "",
        },
      }
    `);
    const main = await api.patch("strategic", `/api/v1/nodes/${name}`, {
      spec: { providerID: "x://1" },
      status: { capacity: { cpu: "5" } },
    });
    expect(main.body.status).toEqual(written.body.status);
    expect(main.body.spec.providerID).toBe("x://1");
    expect(await api.patch("merge", `/api/v1/nodes/${name}`, { spec: { providerID: "x://2" } })).toMatchObject({ status: 422 });
  } finally {
    await api.delete(`/api/v1/nodes/${name}`);
  }
});
