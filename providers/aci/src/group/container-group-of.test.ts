import { expect, test } from "vitest";
import { file, groupOf, mainWith, podOf, subnetId } from "../test-support/pods.ts";

test("a pod of one container is a group with its name, tags, and default resources", async () => {
  const { resourceGroup, body, notes } = await groupOf(podOf());

  expect(resourceGroup).toBe("pods");
  expect(notes).toEqual([]);
  expect(body).toEqual({
    location: "westeurope",
    tags: expect.objectContaining({ "vk.node": "aci-1", "vk.cluster": "c-1", "vk.namespace": "shop", "vk.name": "web" }),
    properties: {
      osType: "Linux",
      restartPolicy: "Always",
      containers: [{ name: "main", properties: { image: "nginx:1.29", resources: { requests: { cpu: 1, memoryInGB: 1.5 } } } }],
    },
  });
});

test("everything that a pod may ask for has its place in the group", async () => {
  const pod = podOf(
    {
      restartPolicy: "OnFailure",
      hostname: "web-0",
      dnsConfig: { nameservers: ["192.0.2.53"], searches: ["example.com"], options: [{ name: "ndots", value: "2" }, { name: "rotate" }] },
      securityContext: { runAsUser: 1000, runAsGroup: 3000, runAsNonRoot: true, seccompProfile: { type: "RuntimeDefault" } },
      initContainers: [
        { name: "setup", image: "busybox", command: ["sh", "-c", "true"], volumeMounts: [{ name: "scratch", mountPath: "/s" }] },
      ],
      containers: [
        {
          name: "main",
          image: "registry.example.com/app:1",
          command: ["app"],
          args: ["--listen", "8080"],
          env: [
            { name: "PLAIN", value: "" },
            { name: "PASSWORD", valueFrom: { secretKeyRef: { name: "db", key: "password" } } },
            { name: "URL", value: "postgres://app:$(PASSWORD)@db" },
          ],
          ports: [
            { name: "http", containerPort: 8080 },
            { containerPort: 53, protocol: "UDP" },
          ],
          resources: { requests: { cpu: "250m", memory: "256Mi" }, limits: { cpu: "500m", memory: "1Gi" } },
          livenessProbe: {
            httpGet: { path: "/live", port: "http", scheme: "HTTPS", httpHeaders: [{ name: "X-Probe", value: "1" }] },
            initialDelaySeconds: 5,
            periodSeconds: 10,
            failureThreshold: 3,
            successThreshold: 1,
            timeoutSeconds: 2,
          },
          readinessProbe: { exec: { command: ["cat", "/ready"] } },
          securityContext: { allowPrivilegeEscalation: false, capabilities: { add: ["NET_BIND_SERVICE"], drop: ["ALL"] }, runAsUser: 1001 },
          volumeMounts: [
            { name: "settings", mountPath: "/etc/app", readOnly: true },
            { name: "share", mountPath: "/data" },
            { name: "code", mountPath: "/code" },
          ],
        },
        { name: "other", image: "busybox", resources: { requests: { cpu: "1", memory: "1G" } } },
      ],
      volumes: [
        { name: "scratch", emptyDir: {} },
        { name: "settings", configMap: { name: "settings" } },
        { name: "share", csi: { driver: "file.csi.azure.com", volumeAttributes: { shareName: "data", secretName: "storage" } } },
        { name: "code", gitRepo: { repository: "https://git.example.com/app", directory: ".", revision: "v1" } },
      ],
    },
    { "aci.virtual-kubelet.io/priority": "spot", "aci.virtual-kubelet.io/zones": "1, 2" },
  );
  const { body, notes } = await groupOf(pod, {
    config: {
      subnetId,
      kubeDnsIp: "10.0.0.10",
      identities: ["/subscriptions/s/resourceGroups/g/providers/Microsoft.ManagedIdentity/userAssignedIdentities/app"],
      registryIdentities: {
        "registry.example.com": "/subscriptions/s/resourceGroups/g/providers/Microsoft.ManagedIdentity/userAssignedIdentities/pull",
      },
      realTimeMetrics: true,
      logAnalytics: { workspaceId: "w", workspaceKey: "k", clusterResourceId: "/aks" },
      encryption: { vaultBaseUrl: "https://vault.example.com", keyName: "key", keyVersion: "1" },
    },
    known: {
      values: { "db/password": "s3cret" },
      files: { settings: [file("colour", "blue")] },
      secrets: { storage: { azurestorageaccountname: "acct", azurestorageaccountkey: "a2V5" } },
    },
  });

  expect(body).toEqual({
    location: "westeurope",
    tags: expect.anything(),
    zones: ["1", "2"],
    identity: {
      type: "UserAssigned",
      userAssignedIdentities: {
        "/subscriptions/s/resourceGroups/g/providers/Microsoft.ManagedIdentity/userAssignedIdentities/app": {},
        "/subscriptions/s/resourceGroups/g/providers/Microsoft.ManagedIdentity/userAssignedIdentities/pull": {},
      },
    },
    properties: {
      osType: "Linux",
      restartPolicy: "OnFailure",
      priority: "Spot",
      initContainers: [
        {
          name: "setup",
          properties: {
            image: "busybox",
            command: ["sh", "-c", "true"],
            volumeMounts: [{ name: "scratch", mountPath: "/s" }],
            securityContext: { runAsUser: 1000, runAsGroup: 3000 },
          },
        },
      ],
      containers: [
        {
          name: "main",
          properties: {
            image: "registry.example.com/app:1",
            command: ["app", "--listen", "8080"],
            environmentVariables: [
              { name: "PLAIN", value: "" },
              { name: "PASSWORD", secureValue: "s3cret" },
              { name: "URL", secureValue: "postgres://app:s3cret@db" },
            ],
            ports: [
              { port: 8080, protocol: "TCP" },
              { port: 53, protocol: "UDP" },
            ],
            resources: { requests: { cpu: 0.25, memoryInGB: 0.3 }, limits: { cpu: 0.5, memoryInGB: 1.1 } },
            livenessProbe: {
              httpGet: { path: "/live", port: 8080, scheme: "https", httpHeaders: [{ name: "X-Probe", value: "1" }] },
              initialDelaySeconds: 5,
              periodSeconds: 10,
              failureThreshold: 3,
              successThreshold: 1,
              timeoutSeconds: 2,
            },
            readinessProbe: { exec: { command: ["cat", "/ready"] } },
            securityContext: {
              allowPrivilegeEscalation: false,
              capabilities: { add: ["NET_BIND_SERVICE"], drop: ["ALL"] },
              runAsUser: 1001,
              runAsGroup: 3000,
            },
            volumeMounts: [
              { name: "settings", mountPath: "/etc/app", readOnly: true },
              { name: "share", mountPath: "/data" },
              { name: "volume-3", mountPath: "/code" },
            ],
          },
        },
        {
          name: "other",
          properties: {
            image: "busybox",
            resources: { requests: { cpu: 1, memoryInGB: 1 } },
            securityContext: { runAsUser: 1000, runAsGroup: 3000 },
          },
        },
      ],
      volumes: [
        { name: "scratch", emptyDir: {} },
        { name: "settings", secret: { colour: "Ymx1ZQ==" } },
        { name: "share", azureFile: { shareName: "data", storageAccountName: "acct", storageAccountKey: "a2V5" } },
        { name: "volume-3", gitRepo: { repository: "https://git.example.com/app", directory: ".", revision: "v1" } },
      ],
      imageRegistryCredentials: [
        {
          server: "registry.example.com",
          identity: "/subscriptions/s/resourceGroups/g/providers/Microsoft.ManagedIdentity/userAssignedIdentities/pull",
        },
      ],
      subnetIds: [{ id: subnetId }],
      dnsConfig: {
        nameServers: ["10.0.0.10", "192.0.2.53"],
        searchDomains: "shop.svc.cluster.local svc.cluster.local cluster.local example.com",
        options: "ndots:2 rotate",
      },
      extensions: [
        {
          name: "realtime-metrics",
          properties: { extensionType: "realtime-metrics", version: "1.0", settings: {}, protectedSettings: {} },
        },
      ],
      diagnostics: {
        logAnalytics: {
          workspaceId: "w",
          workspaceKey: "k",
          logType: "ContainerInsights",
          metadata: { "cluster-resource-id": "/aks", "node-name": "aci-1", "pod-uuid": pod.metadata?.uid },
        },
      },
      encryptionProperties: { vaultBaseUrl: "https://vault.example.com", keyName: "key", keyVersion: "1" },
    },
  });
  expect(notes).toEqual([expect.objectContaining({ reason: "HostnameIgnored" })]);
});

test("the workspace's metadata of one pod never reaches another pod", async () => {
  const config = { logAnalytics: { workspaceId: "w", workspaceKey: "k", clusterResourceId: "/aks" } };
  const first = podOf();
  const second = { ...podOf(), metadata: { ...podOf().metadata, uid: "other" } };
  const groups = await Promise.all([groupOf(first, { config }), groupOf(second, { config })]);

  expect(groups.map(({ body }) => body.properties.diagnostics?.logAnalytics.metadata?.["pod-uuid"])).toEqual([
    first.metadata?.uid,
    "other",
  ]);
});

test("a sidecar runs beside the regular containers, named by a tag, and an event says when it starts", async () => {
  const { body, notes } = await groupOf(podOf({ initContainers: [{ name: "proxy", image: "envoy", restartPolicy: "Always" }] }));

  expect(body.properties.containers.map(({ name }) => name)).toEqual(["proxy", "main"]);
  expect(body.properties.initContainers).toBeUndefined();
  expect(body.tags["vk.aci.sidecars"]).toBe("proxy");
  expect(notes).toEqual([expect.objectContaining({ reason: "SidecarStartsWithContainers" })]);
});

test("a confidential pod carries its policy, by the original provider's annotations", async () => {
  const policy = await groupOf(podOf({}, { "virtual-kubelet.io/confidential-compute-cce-policy": "cG9saWN5" }));
  const sku = await groupOf(podOf({}, { "virtual-kubelet.io/container-sku": "confidential" }));

  expect(policy.body.properties).toMatchObject({ sku: "Confidential", confidentialComputeProperties: { ccePolicy: "cG9saWN5" } });
  expect(sku.body.properties.sku).toBe("Confidential");
});

test("annotations choose resource group, subnet, profile and pool of a pod", async () => {
  const { resourceGroup, body } = await groupOf(
    podOf(
      {},
      {
        "aci.virtual-kubelet.io/resource-group": "batch",
        "aci.virtual-kubelet.io/subnet-id": subnetId,
        "aci.virtual-kubelet.io/standby-pool":
          "/subscriptions/s/resourceGroups/g/providers/Microsoft.StandbyPool/standbyContainerGroupPools/p",
        "aci.virtual-kubelet.io/container-group-profile":
          "/subscriptions/s/resourceGroups/g/providers/Microsoft.ContainerInstance/containerGroupProfiles/p@2",
      },
    ),
    { config: { otherResourceGroups: ["batch"] } },
  );

  expect(resourceGroup).toBe("batch");
  expect(body.properties).toMatchObject({
    subnetIds: [{ id: subnetId }],
    standbyPoolProfile: { id: "/subscriptions/s/resourceGroups/g/providers/Microsoft.StandbyPool/standbyContainerGroupPools/p" },
    containerGroupProfile: {
      id: "/subscriptions/s/resourceGroups/g/providers/Microsoft.ContainerInstance/containerGroupProfiles/p",
      revision: 2,
    },
  });
});

test.for<[string, string, RegExp]>([
  ["aci.virtual-kubelet.io/resource-group", "elsewhere", /expected pods$/],
  ["aci.virtual-kubelet.io/sku", "Gold", /expected Standard, Dedicated, Confidential$/],
  ["aci.virtual-kubelet.io/priority", "Low", /expected Regular, Spot$/],
  ["aci.virtual-kubelet.io/subnet-id", "pods", /expected a resource id/],
  ["aci.virtual-kubelet.io/identities", "app", /expected system, or the resource id/],
  ["aci.virtual-kubelet.io/registry-identities", "registry.example.com", /expected SERVER=IDENTITY/],
  ["aci.virtual-kubelet.io/container-group-profile", "p", /expected a resource id/],
  ["virtualkubelet.io/dnsnamelabel", "shop", /only a public address has a DNS name/],
])("annotation %s with value %s is refused by its name", async ([name, value, message]) => {
  await expect(groupOf(podOf({}, { [name]: value }))).rejects.toMatchObject({
    code: "VK_INVALID_INPUT",
    message: expect.stringMatching(message),
  });
  await expect(groupOf(podOf({}, { [name]: value }))).rejects.toThrow(name);
});

test("a pod without a subnet that declares ports has a public address, and an event says that they are open", async () => {
  const pod = podOf(mainWith({ ports: [{ containerPort: 80 }, { containerPort: 80, name: "again" }] }), {
    "virtualkubelet.io/dnsnamelabel": "shop",
    "aci.virtual-kubelet.io/dns-name-label-scope": "TenantReuse",
  });
  const open = await groupOf(pod);
  const closed = await groupOf(podOf(mainWith({ ports: [{ containerPort: 80 }] })), { config: { publicAddress: "never" } });

  expect(open.body.properties.ipAddress).toEqual({
    type: "Public",
    ports: [{ port: 80, protocol: "TCP" }],
    dnsNameLabel: "shop",
    autoGeneratedDomainNameLabelScope: "TenantReuse",
  });
  expect(open.notes).toEqual([expect.objectContaining({ reason: "PublicAddress", message: expect.stringContaining("80/TCP") })]);
  expect(closed.body.properties.ipAddress).toBeUndefined();
});

test("kube-proxy's kubeconfig is a protected setting", async () => {
  const { extensionsOf } = await import("./extensions.ts");

  expect(
    extensionsOf({ realTimeMetrics: false, kubeProxy: { clusterCidr: "10.240.0.0/16", kubeVersion: "v1.9.10", kubeconfig: "config" } }),
  ).toEqual([
    {
      name: "kube-proxy",
      properties: {
        extensionType: "kube-proxy",
        version: "1.0",
        settings: { clusterCidr: "10.240.0.0/16", kubeVersion: "v1.9.10" },
        protectedSettings: { kubeConfig: "Y29uZmln" },
      },
    },
  ]);
});
