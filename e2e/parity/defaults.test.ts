import { expect } from "vitest";
import { test } from "./support/parity-test.ts";

const bare = { containers: [{ name: "main", image: "main" }] };
const unscheduled = { schedulerName: "nobody" };

test("a pod with only an image gets these defaults", async ({ api, core }) => {
  const pod = await api.create(`${core}/pods`, { metadata: { name: "web" }, spec: { ...bare, ...unscheduled } });

  expect(pod).toMatchInlineSnapshot(`
    {
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
        containers: [
          {
            image: "main",
            imagePullPolicy: "Always",
            name: "main",
            resources: {},
            terminationMessagePath: "/dev/termination-log",
            terminationMessagePolicy: "File",
            volumeMounts: [{mountPath: "/var/run/secrets/kubernetes.io/serviceaccount", name: "kube-api-access-SUFFIX", readOnly: true}],
          },
        ],
        dnsPolicy: "ClusterFirst",
        enableServiceLinks: true,
        preemptionPolicy: "PreemptLowerPriority",
        priority: 0,
        restartPolicy: "Always",
        schedulerName: "nobody",
        securityContext: {},
        serviceAccount: "default",
        serviceAccountName: "default",
        terminationGracePeriodSeconds: 30,
        tolerations: [
          {effect: "NoExecute", key: "node.kubernetes.io/not-ready", operator: "Exists", tolerationSeconds: 300},
          {effect: "NoExecute", key: "node.kubernetes.io/unreachable", operator: "Exists", tolerationSeconds: 300},
        ],
        volumes: [
          {
            name: "kube-api-access-SUFFIX",
            projected: {
              defaultMode: 420,
              sources: [
                {serviceAccountToken: {expirationSeconds: 3607, path: "token"}},
                {configMap: {items: [{key: "ca.crt", path: "ca.crt"}], name: "kube-root-ca.crt"}},
                {downwardAPI: {items: [{fieldRef: {apiVersion: "v1", fieldPath: "metadata.namespace"}, path: "namespace"}]}},
              ],
            },
          },
        ],
      },
      status: {phase: "Pending", qosClass: "BestEffort"},
    }
  `);
});

test("a pod's token volume contains token, authority and namespace", async ({ api, core }) => {
  const pod = await api.create(`${core}/pods`, { metadata: { name: "web" }, spec: { ...bare, ...unscheduled } });

  expect(pod.spec.volumes).toMatchInlineSnapshot(`
    [
      {
        name: "kube-api-access-SUFFIX",
        projected: {
          defaultMode: 420,
          sources: [
            {serviceAccountToken: {expirationSeconds: 3607, path: "token"}},
            {configMap: {items: [{key: "ca.crt", path: "ca.crt"}], name: "kube-root-ca.crt"}},
            {downwardAPI: {items: [{fieldRef: {apiVersion: "v1", fieldPath: "metadata.namespace"}, path: "namespace"}]}},
          ],
        },
      },
    ]
  `);
  expect(pod.spec.containers[0].volumeMounts).toMatchInlineSnapshot(
    `[{mountPath: "/var/run/secrets/kubernetes.io/serviceaccount", name: "kube-api-access-SUFFIX", readOnly: true}]`,
  );
});

test("automountServiceAccountToken=false on the pod or the service account prevents the token volume", async ({ api, core }) => {
  await api.create(`${core}/serviceaccounts`, { metadata: { name: "robot" }, automountServiceAccountToken: false });
  const own = await api.create(`${core}/pods`, {
    metadata: { name: "a" },
    spec: { ...bare, ...unscheduled, automountServiceAccountToken: false },
  });
  const account = await api.create(`${core}/pods`, {
    metadata: { name: "b" },
    spec: { ...bare, ...unscheduled, serviceAccountName: "robot" },
  });

  expect([own.spec.volumes, account.spec.volumes]).toEqual([undefined, undefined]);
});

test("the image's tag determines the pull policy", async ({ api, core }) => {
  const images = ["a", "a:latest", "a:1", "registry:5000/a", "registry:5000/a:2", `a@sha256:${"0".repeat(64)}`];
  const { spec } = await api.create(`${core}/pods`, {
    metadata: { name: "web" },
    spec: { ...unscheduled, containers: images.map((image, index) => ({ name: `c${String(index)}`, image })) },
  });

  expect(spec.containers.map(({ imagePullPolicy }: { imagePullPolicy: string }) => imagePullPolicy)).toMatchInlineSnapshot(
    `["Always", "Always", "IfNotPresent", "Always", "IfNotPresent", "IfNotPresent"]`,
  );
});

test("ports, probes, hooks, volumes and variables of a pod get these defaults", async ({ api, core }) => {
  const { spec } = await api.create(`${core}/pods`, {
    metadata: { name: "web" },
    spec: {
      ...unscheduled,
      automountServiceAccountToken: false,
      initContainers: [{ name: "init", image: "init" }],
      containers: [
        {
          name: "main",
          image: "main",
          ports: [{ containerPort: 80 }],
          livenessProbe: { httpGet: { port: 80 } },
          readinessProbe: { tcpSocket: { port: 80 } },
          startupProbe: { grpc: { port: 80 } },
          lifecycle: { preStop: { httpGet: { port: 80 } } },
          env: [{ name: "IP", valueFrom: { fieldRef: { fieldPath: "status.podIP" } } }],
          volumeMounts: [{ name: "config", mountPath: "/config" }],
        },
      ],
      volumes: [
        { name: "config", configMap: { name: "c" } },
        { name: "secret", secret: { secretName: "s" } },
        { name: "down", downwardAPI: { items: [{ path: "a", fieldRef: { fieldPath: "metadata.name" } }] } },
        {
          name: "all",
          projected: {
            sources: [
              { serviceAccountToken: { path: "t" } },
              { downwardAPI: { items: [{ path: "n", fieldRef: { fieldPath: "metadata.namespace" } }] } },
            ],
          },
        },
        { name: "host", hostPath: { path: "/" } },
        { name: "nothing" },
      ],
    },
  });

  expect(spec).toMatchInlineSnapshot(`
    {
      automountServiceAccountToken: false,
      containers: [
        {
          env: [{name: "IP", valueFrom: {fieldRef: {apiVersion: "v1", fieldPath: "status.podIP"}}}],
          image: "main",
          imagePullPolicy: "Always",
          lifecycle: {preStop: {httpGet: {path: "/", port: 80, scheme: "HTTP"}}},
          livenessProbe: {
            failureThreshold: 3,
            httpGet: {path: "/", port: 80, scheme: "HTTP"},
            periodSeconds: 10,
            successThreshold: 1,
            timeoutSeconds: 1,
          },
          name: "main",
          ports: [{containerPort: 80, protocol: "TCP"}],
          readinessProbe: {failureThreshold: 3, periodSeconds: 10, successThreshold: 1, tcpSocket: {port: 80}, timeoutSeconds: 1},
          resources: {},
          startupProbe: {failureThreshold: 3, grpc: {port: 80, service: ""}, periodSeconds: 10, successThreshold: 1, timeoutSeconds: 1},
          terminationMessagePath: "/dev/termination-log",
          terminationMessagePolicy: "File",
          volumeMounts: [{mountPath: "/config", name: "config"}],
        },
      ],
      dnsPolicy: "ClusterFirst",
      enableServiceLinks: true,
      initContainers: [
        {
          image: "init",
          imagePullPolicy: "Always",
          name: "init",
          resources: {},
          terminationMessagePath: "/dev/termination-log",
          terminationMessagePolicy: "File",
        },
      ],
      preemptionPolicy: "PreemptLowerPriority",
      priority: 0,
      restartPolicy: "Always",
      schedulerName: "nobody",
      securityContext: {},
      serviceAccount: "default",
      serviceAccountName: "default",
      terminationGracePeriodSeconds: 30,
      tolerations: [
        {effect: "NoExecute", key: "node.kubernetes.io/not-ready", operator: "Exists", tolerationSeconds: 300},
        {effect: "NoExecute", key: "node.kubernetes.io/unreachable", operator: "Exists", tolerationSeconds: 300},
      ],
      volumes: [
        {configMap: {defaultMode: 420, name: "c"}, name: "config"},
        {name: "secret", secret: {defaultMode: 420, secretName: "s"}},
        {
          downwardAPI: {defaultMode: 420, items: [{fieldRef: {apiVersion: "v1", fieldPath: "metadata.name"}, path: "a"}]},
          name: "down",
        },
        {
          name: "all",
          projected: {
            defaultMode: 420,
            sources: [
              {serviceAccountToken: {expirationSeconds: 3600, path: "t"}},
              {downwardAPI: {items: [{fieldRef: {apiVersion: "v1", fieldPath: "metadata.namespace"}, path: "n"}]}},
            ],
          },
        },
        {hostPath: {path: "/", type: ""}, name: "host"},
        {emptyDir: {}, name: "nothing"},
      ],
    }
  `);
});

test("limits are the default for requests, and determine the quality of service", async ({ api, core }) => {
  const create = async (name: string, resources: object): Promise<unknown> => {
    const { spec, status } = await api.create(`${core}/pods`, {
      metadata: { name },
      spec: { ...unscheduled, containers: [{ name: "main", image: "main", resources }] },
    });
    return { resources: spec.containers[0].resources, qosClass: status.qosClass };
  };

  expect(await create("a", { limits: { cpu: "1000m", memory: "1024Mi" } })).toMatchInlineSnapshot(
    `{qosClass: "Guaranteed", resources: {limits: {cpu: "1", memory: "1Gi"}, requests: {cpu: "1", memory: "1Gi"}}}`,
  );
  expect(await create("b", { requests: { cpu: "0.5" }, limits: { cpu: "1" } })).toMatchInlineSnapshot(
    `{qosClass: "Burstable", resources: {limits: {cpu: "1"}, requests: {cpu: "500m"}}}`,
  );
  expect(await create("c", {})).toMatchInlineSnapshot(`{qosClass: "BestEffort", resources: {}}`);
  expect(await create("d", { requests: { memory: "1e3", cpu: "1.5", "ephemeral-storage": "0.1Gi" } })).toMatchInlineSnapshot(
    `{qosClass: "Burstable", resources: {requests: {cpu: "1500m", ephemeral-storage: "107374182400m", memory: "1e3"}}}`,
  );
  expect(await create("e", { limits: { "example.com/gpu": "2" } })).toMatchInlineSnapshot(
    `{qosClass: "BestEffort", resources: {limits: {example.com/gpu: "2"}, requests: {example.com/gpu: "2"}}}`,
  );
});

test("ports of a pod on the host's network become host ports", async ({ api, core }) => {
  const { spec } = await api.create(`${core}/pods`, {
    metadata: { name: "web" },
    spec: { ...unscheduled, hostNetwork: true, containers: [{ name: "main", image: "main", ports: [{ containerPort: 80 }] }] },
  });

  expect(spec.containers[0].ports).toEqual([{ containerPort: 80, hostPort: 80, protocol: "TCP" }]);
  expect(spec.dnsPolicy).toBe("ClusterFirst");
});

test("a priority class gives a pod its priority", async ({ api, core }) => {
  const { spec } = await api.create(`${core}/pods`, {
    metadata: { name: "web" },
    spec: { ...bare, ...unscheduled, priorityClassName: "system-node-critical" },
  });

  expect([spec.priority, spec.priorityClassName, spec.preemptionPolicy]).toEqual([
    2_000_001_000,
    "system-node-critical",
    "PreemptLowerPriority",
  ]);
  expect(await api.post(`${core}/pods`, { metadata: { name: "b" }, spec: { ...bare, priorityClassName: "nobody" } }))
    .toMatchInlineSnapshot(`
    403 Failure {
      details: {kind: "pods", name: "b"},
      message: 'pods "b" is forbidden: no PriorityClass with name nobody was found',
      reason: "Forbidden",
    }
  `);
});

test("a Deployment with only a template gets these defaults", async ({ api, apps }) => {
  const deployment = await api.create(`${apps}/deployments`, {
    metadata: { name: "web" },
    spec: { replicas: 0, selector: { matchLabels: { a: "b" } }, template: { metadata: { labels: { a: "b" } }, spec: bare } },
  });

  expect(deployment).toMatchInlineSnapshot(`
    {
      apiVersion: "apps/v1",
      kind: "Deployment",
      metadata: {
        creationTimestamp: "TIME",
        generation: 1,
        name: "web",
        namespace: "NAMESPACE",
        resourceVersion: VERSION,
        uid: "UID",
      },
      spec: {
        progressDeadlineSeconds: 600,
        replicas: 0,
        revisionHistoryLimit: 10,
        selector: {matchLabels: {a: "b"}},
        strategy: {rollingUpdate: {maxSurge: "25%", maxUnavailable: "25%"}, type: "RollingUpdate"},
        template: {
          metadata: {labels: {a: "b"}},
          spec: {
            containers: [
              {
                image: "main",
                imagePullPolicy: "Always",
                name: "main",
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
});

test("a Deployment and a ReplicaSet have one replica by default", async ({ api, apps }) => {
  const spec = { selector: { matchLabels: { a: "b" } }, template: { metadata: { labels: { a: "b" } }, spec: bare } };

  expect((await api.create(`${apps}/deployments?dryRun=All`, { metadata: { name: "web" }, spec })).spec.replicas).toBe(1);
  expect(await api.create(`${apps}/replicasets?dryRun=All`, { metadata: { name: "web" }, spec })).toMatchInlineSnapshot(`
    {
      apiVersion: "apps/v1",
      kind: "ReplicaSet",
      metadata: {
        creationTimestamp: "TIME",
        generation: 1,
        name: "web",
        namespace: "NAMESPACE",
        uid: "UID",
      },
      spec: {
        replicas: 1,
        selector: {matchLabels: {a: "b"}},
        template: {
          metadata: {labels: {a: "b"}},
          spec: {
            containers: [
              {
                image: "main",
                imagePullPolicy: "Always",
                name: "main",
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
      status: {replicas: 0},
    }
  `);
});

test("a ReplicaSet without labels gets those of its template", async ({ api, apps }) => {
  const { metadata } = await api.create(`${apps}/replicasets?dryRun=All`, {
    metadata: { name: "web" },
    spec: { replicas: 0, selector: { matchLabels: { a: "b" } }, template: { metadata: { labels: { a: "b", c: "d" } }, spec: bare } },
  });

  expect(metadata.labels).toMatchInlineSnapshot(`undefined`);
});

test("services get these defaults", async ({ api, core }) => {
  const create = (name: string, spec: object): Promise<unknown> => api.create(`${core}/services`, { metadata: { name }, spec });

  expect(await create("cluster", { ports: [{ port: 80 }] })).toMatchInlineSnapshot(`
    {
      apiVersion: "v1",
      kind: "Service",
      metadata: {
        creationTimestamp: "TIME",
        name: "cluster",
        namespace: "NAMESPACE",
        resourceVersion: VERSION,
        uid: "UID",
      },
      spec: {
        clusterIP: "IP",
        clusterIPs: ["IP"],
        internalTrafficPolicy: "Cluster",
        ipFamilies: ["IPv4"],
        ipFamilyPolicy: "SingleStack",
        ports: [{port: 80, protocol: "TCP", targetPort: 80}],
        sessionAffinity: "None",
        type: "ClusterIP",
      },
      status: {loadBalancer: {}},
    }
  `);
  expect(await create("headless", { clusterIP: "None", selector: { a: "b" } })).toMatchInlineSnapshot(`
    {
      apiVersion: "v1",
      kind: "Service",
      metadata: {
        creationTimestamp: "TIME",
        name: "headless",
        namespace: "NAMESPACE",
        resourceVersion: VERSION,
        uid: "UID",
      },
      spec: {
        clusterIP: "None",
        clusterIPs: ["None"],
        internalTrafficPolicy: "Cluster",
        ipFamilies: ["IPv4"],
        ipFamilyPolicy: "SingleStack",
        selector: {a: "b"},
        sessionAffinity: "None",
        type: "ClusterIP",
      },
      status: {loadBalancer: {}},
    }
  `);
  expect(await create("nodes", { type: "NodePort", ports: [{ port: 80, targetPort: "http" }], sessionAffinity: "ClientIP" }))
    .toMatchInlineSnapshot(`
    {
      apiVersion: "v1",
      kind: "Service",
      metadata: {
        creationTimestamp: "TIME",
        name: "nodes",
        namespace: "NAMESPACE",
        resourceVersion: VERSION,
        uid: "UID",
      },
      spec: {
        clusterIP: "IP",
        clusterIPs: ["IP"],
        externalTrafficPolicy: "Cluster",
        internalTrafficPolicy: "Cluster",
        ipFamilies: ["IPv4"],
        ipFamilyPolicy: "SingleStack",
        ports: [{nodePort: PORT, port: 80, protocol: "TCP", targetPort: "http"}],
        sessionAffinity: "ClientIP",
        sessionAffinityConfig: {clientIP: {timeoutSeconds: 10800}},
        type: "NodePort",
      },
      status: {loadBalancer: {}},
    }
  `);
  expect(await create("external", { type: "ExternalName", externalName: "example.com" })).toMatchInlineSnapshot(`
    {
      apiVersion: "v1",
      kind: "Service",
      metadata: {
        creationTimestamp: "TIME",
        name: "external",
        namespace: "NAMESPACE",
        resourceVersion: VERSION,
        uid: "UID",
      },
      spec: {externalName: "example.com", sessionAffinity: "None", type: "ExternalName"},
      status: {loadBalancer: {}},
    }
  `);
  expect(await create("balanced", { type: "LoadBalancer", ports: [{ port: 80 }] })).toMatchInlineSnapshot(`
    {
      apiVersion: "v1",
      kind: "Service",
      metadata: {
        creationTimestamp: "TIME",
        name: "balanced",
        namespace: "NAMESPACE",
        resourceVersion: VERSION,
        uid: "UID",
      },
      spec: {
        allocateLoadBalancerNodePorts: true,
        clusterIP: "IP",
        clusterIPs: ["IP"],
        externalTrafficPolicy: "Cluster",
        internalTrafficPolicy: "Cluster",
        ipFamilies: ["IPv4"],
        ipFamilyPolicy: "SingleStack",
        ports: [{nodePort: PORT, port: 80, protocol: "TCP", targetPort: 80}],
        sessionAffinity: "None",
        type: "LoadBalancer",
      },
      status: {loadBalancer: {}},
    }
  `);
});

test("a node with only a name gets these defaults", async ({ api, namespace: name }) => {
  const node = await api.create("/api/v1/nodes?dryRun=All", { metadata: { name } });

  expect(node).toMatchInlineSnapshot(`
    {
      apiVersion: "v1",
      kind: "Node",
      metadata: {creationTimestamp: "TIME", name: "NAMESPACE", uid: "UID"},
      spec: {taints: [{effect: "NoSchedule", key: "node.kubernetes.io/not-ready"}]},
      status: {
        daemonEndpoints: {kubeletEndpoint: {Port: 0}},
        nodeInfo: {
          architecture: "",
          bootID: "",
          containerRuntimeVersion: "",
          kernelVersion: "",
          kubeProxyVersion: "",
          kubeletVersion: "",
          machineID: "",
          operatingSystem: "",
          osImage: "",
          systemUUID: "",
        },
      },
    }
  `);
});

test("a node's allocatable defaults to its capacity", async ({ api, namespace: name }) => {
  const { status } = await api.create("/api/v1/nodes?dryRun=All", { metadata: { name }, status: { capacity: { cpu: "4000m" } } });

  expect(status).toMatchInlineSnapshot(`
    {
      allocatable: {cpu: "4"},
      capacity: {cpu: "4"},
      daemonEndpoints: {kubeletEndpoint: {Port: 0}},
      nodeInfo: {
        architecture: "",
        bootID: "",
        containerRuntimeVersion: "",
        kernelVersion: "",
        kubeProxyVersion: "",
        kubeletVersion: "",
        machineID: "",
        operatingSystem: "",
        osImage: "",
        systemUUID: "",
      },
    }
  `);
});

test("stringData of a secret is stored as data", async ({ api, core }) => {
  expect(await api.create(`${core}/secrets`, { metadata: { name: "a" }, stringData: { a: "ä" }, data: { b: "Yg==" } }))
    .toMatchInlineSnapshot(`
    {
      apiVersion: "v1",
      data: {a: "w6Q=", b: "Yg=="},
      kind: "Secret",
      metadata: {
        creationTimestamp: "TIME",
        name: "a",
        namespace: "NAMESPACE",
        resourceVersion: VERSION,
        uid: "UID",
      },
      type: "Opaque",
    }
  `);
  expect(await api.create(`${core}/secrets`, { metadata: { name: "b" } })).toMatchInlineSnapshot(`
    {
      apiVersion: "v1",
      kind: "Secret",
      metadata: {
        creationTimestamp: "TIME",
        name: "b",
        namespace: "NAMESPACE",
        resourceVersion: VERSION,
        uid: "UID",
      },
      type: "Opaque",
    }
  `);
});

test("config maps, service accounts, leases and events are stored unchanged", async ({ api, core, namespace }) => {
  expect(await api.create(`${core}/configmaps`, { metadata: { name: "a" }, data: { a: "1" }, binaryData: { b: "Yg==" } }))
    .toMatchInlineSnapshot(`
    {
      apiVersion: "v1",
      binaryData: {b: "Yg=="},
      data: {a: "1"},
      kind: "ConfigMap",
      metadata: {
        creationTimestamp: "TIME",
        name: "a",
        namespace: "NAMESPACE",
        resourceVersion: VERSION,
        uid: "UID",
      },
    }
  `);
  expect(await api.create(`${core}/serviceaccounts`, { metadata: { name: "a" } })).toMatchInlineSnapshot(`
    {
      apiVersion: "v1",
      kind: "ServiceAccount",
      metadata: {
        creationTimestamp: "TIME",
        name: "a",
        namespace: "NAMESPACE",
        resourceVersion: VERSION,
        uid: "UID",
      },
    }
  `);
  expect(
    await api.create(`/apis/coordination.k8s.io/v1/namespaces/${namespace}/leases`, {
      metadata: { name: "a" },
      spec: { holderIdentity: "me", leaseDurationSeconds: 40, renewTime: "2026-01-01T00:00:00.500000Z" },
    }),
  ).toMatchInlineSnapshot(`
    {
      apiVersion: "coordination.k8s.io/v1",
      kind: "Lease",
      metadata: {
        creationTimestamp: "TIME",
        name: "a",
        namespace: "NAMESPACE",
        resourceVersion: VERSION,
        uid: "UID",
      },
      spec: {holderIdentity: "me", leaseDurationSeconds: 40, renewTime: "MICROTIME"},
    }
  `);
  expect(
    await api.create(`${core}/events`, {
      metadata: { name: "a" },
      involvedObject: { kind: "Pod", name: "web", namespace },
      reason: "Tested",
      message: "m",
      type: "Normal",
      firstTimestamp: "2026-01-01T00:00:00Z",
      lastTimestamp: "2026-01-01T00:00:00+01:00",
      count: 1,
    }),
  ).toMatchInlineSnapshot(`
    {
      apiVersion: "v1",
      count: 1,
      eventTime: null,
      firstTimestamp: "TIME",
      involvedObject: {kind: "Pod", name: "web", namespace: "NAMESPACE"},
      kind: "Event",
      lastTimestamp: "TIME",
      message: "m",
      metadata: {
        creationTimestamp: "TIME",
        name: "a",
        namespace: "NAMESPACE",
        resourceVersion: VERSION,
        uid: "UID",
      },
      reason: "Tested",
      reportingComponent: "",
      reportingInstance: "",
      source: {},
      type: "Normal",
    }
  `);
});

test("a namespace has its name as a label and the finalizer kubernetes", async ({ api }) => {
  expect(await api.create("/api/v1/namespaces?dryRun=All", { metadata: { name: "parity-00000000" } })).toMatchInlineSnapshot(`
    {
      apiVersion: "v1",
      kind: "Namespace",
      metadata: {
        creationTimestamp: "TIME",
        labels: {kubernetes.io/metadata.name: "NAMESPACE"},
        name: "NAMESPACE",
        uid: "UID",
      },
      spec: {finalizers: ["kubernetes"]},
      status: {phase: "Active"},
    }
  `);
});

test("a new namespace has a service account and the cluster's authority", async ({ api, core }) => {
  const account = await api.get(`${core}/serviceaccounts/default`);
  const authority = (await api.get(`${core}/configmaps/kube-root-ca.crt`)).body;

  expect(account).toMatchInlineSnapshot(`
    200 {
      apiVersion: "v1",
      kind: "ServiceAccount",
      metadata: {
        creationTimestamp: "TIME",
        name: "default",
        namespace: "NAMESPACE",
        resourceVersion: VERSION,
        uid: "UID",
      },
    }
  `);
  expect({ ...authority, data: Object.keys(authority.data) }).toMatchInlineSnapshot(`
    {
      apiVersion: "v1",
      data: ["ca.crt"],
      kind: "ConfigMap",
      metadata: {
        annotations: {
          kubernetes.io/description: "Contains a CA bundle that can be used to verify the kube-apiserver when using internal endpoints such as the internal service IP or kubernetes.default.svc. No other usage is guaranteed across distributions of Kubernetes clusters.",
        },
        creationTimestamp: "TIME",
        name: "kube-root-ca.crt",
        namespace: "NAMESPACE",
        resourceVersion: VERSION,
        uid: "UID",
      },
    }
  `);
});

test("quantities are written in their canonical form", async ({ api, core }) => {
  const texts = [
    "1000m",
    "0.1",
    "1.5",
    "1024Mi",
    "1000Ki",
    "1e3",
    "1E3",
    "12e6",
    "0.5Gi",
    "100000000000000000000",
    "5n",
    "1500u",
    "+1",
    "01",
    "0",
    "1.0",
    "-0",
  ];
  const forms: Record<string, string> = {};
  for (const text of texts) {
    const { spec } = await api.create(`${core}/pods?dryRun=All`, {
      metadata: { name: "a" },
      spec: { ...unscheduled, containers: [{ name: "a", image: "a", resources: { requests: { memory: text } } }] },
    });
    forms[text] = spec.containers[0].resources.requests.memory;
  }

  expect(forms).toMatchInlineSnapshot(`
    {
      +1: "+1",
      -0: "0",
      0: "0",
      0.1: "100m",
      0.5Gi: "512Mi",
      01: "01",
      1.0: "1",
      1.5: "1500m",
      100000000000000000000: "100E",
      1000Ki: "1000Ki",
      1000m: "1",
      1024Mi: "1Gi",
      12e6: "12e6",
      1500u: "2m",
      1E3: "1E3",
      1e3: "1e3",
      5n: "1m",
    }
  `);
});

test("only times in Kubernetes' format are accepted", async ({ api, core, namespace }) => {
  const leases = `/apis/coordination.k8s.io/v1/namespaces/${namespace}/leases`;
  const { spec } = await api.create(leases, { metadata: { name: "a" }, spec: { renewTime: "2026-01-01T01:00:00.123456+01:00" } });
  const event = { metadata: { name: "a" }, involvedObject: { namespace }, firstTimestamp: "2026-01-01T01:00:00.9+01:00" };

  expect(spec.renewTime).toBe("2026-01-01T00:00:00.123456Z");
  expect((await api.create(`${core}/events`, event)).firstTimestamp).toBe("2026-01-01T00:00:00Z");
  expect(await api.post(leases, { metadata: { name: "b" }, spec: { renewTime: "2026-01-01T00:00:00.5Z" } })).toMatchInlineSnapshot(`
    400 Failure {
      message: 'Lease in version "v1" cannot be handled as a Lease: parsing time "2026-01-01T00:00:00.5Z" as "MICROTIME07:00": cannot parse ".5Z" as ".000000"',
      reason: "BadRequest",
    }
  `);
  expect(await api.post(leases, { metadata: { name: "b" }, spec: { renewTime: "yesterday" } })).toMatchInlineSnapshot(`
    400 Failure {
      message: 'Lease in version "v1" cannot be handled as a Lease: parsing time "yesterday" as "MICROTIME07:00": cannot parse "yesterday" as "2006"',
      reason: "BadRequest",
    }
  `);
  expect(await api.post(`${core}/events`, { ...event, metadata: { name: "b" }, firstTimestamp: "yesterday" })).toMatchInlineSnapshot(`
    400 Failure {
      message: 'Event in version "v1" cannot be handled as a Event: parsing time "yesterday" as "TIME07:00": cannot parse "yesterday" as "2006"',
      reason: "BadRequest",
    }
  `);
});
