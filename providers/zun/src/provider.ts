import { podRef, type Capabilities, type PlannedRequest, type ProviderDefinition } from "@virtual-kubelet/core";
import { RemotePodProvider } from "@virtual-kubelet/remote-pods";
import { withClouds } from "./config/clouds-file.ts";
import { toCredentials } from "./config/credentials.ts";
import { zunConfigSchema, type ZunConfig } from "./config/schema.ts";
import { PodNetwork } from "./lifecycle/pod-network.ts";
import { translatePod, requestOf, type TranslatedPod } from "./lifecycle/translate-pod.ts";
import { createHttpClient, readCloudCertificates } from "./openstack/http-client.ts";
import { Session } from "./openstack/session.ts";
import { policyAnnotations } from "./pod/annotations.ts";
import { policyVolumes } from "./pod/pod-volumes.ts";
import { newestMinor } from "./zun/microversion.ts";
import { reasons } from "./reasons.ts";
import type { ZunMemory } from "./status/observe-object.ts";
import type { ZunObject } from "./status/zun-object.ts";
import { ZunBackend, type ZunBackendOptions } from "./zun-backend.ts";

/** What a container of Zun's can do. What a capsule cannot is refused when the pod comes, with the field's path. */
const capabilities: Capabilities = {
  initContainers: true,
  multipleContainers: true,
  env: true,
  probes: true,
  restarts: true,
  volumes: ["cinder", "configMap", "downwardAPI", "emptyDir", "ephemeral", "flexVolume", "projected", "secret"],
  operatingSystems: ["linux"],
};

/** Lists of an unchanging node are this many times rarer than `pollIntervalMs` of remote-pods. */
const quietFactor = 6;

/** Provider that owns its back end. */
class ZunProvider extends RemotePodProvider<TranslatedPod, ZunObject, ZunMemory> {
  readonly #backend: ZunBackend;

  constructor(options: ZunBackendOptions) {
    const backend = new ZunBackend(options);
    super({ host: options.host, backend, pollIntervalMs: options.config.pollIntervalMs / quietFactor });
    this.#backend = backend;
  }

  override async [Symbol.asyncDispose](): Promise<void> {
    await super[Symbol.asyncDispose]();
    await this.#backend[Symbol.asyncDispose]();
  }
}

/** The OpenStack Zun provider, as the program and {@link "@virtual-kubelet/core"!VirtualNode} take it. */
export const provider: ProviderDefinition<ZunConfig> = {
  name: "zun",
  aliases: ["openstack", "openstack-zun"],
  capabilities,
  reasons,
  configSchema: zunConfigSchema,
  policy: ({ policy }) => policy,
  policyAnnotations,
  policyVolumes,
  create(host, config) {
    const auth = withClouds(config);
    const tls = readCloudCertificates(auth);
    const session = new Session({
      http: createHttpClient(tls),
      clock: host.clock,
      logger: host.logger,
      credentials: toCredentials(auth),
      choice: { region: auth.region, interface: auth.interface },
      endpoints: {
        ...(auth.containerEndpoint !== undefined && { container: auth.containerEndpoint }),
        ...(auth.networkEndpoint !== undefined && { network: auth.networkEndpoint }),
      },
    });
    return new ZunProvider({ host, config, session, socket: { tls, websocketUrl: config.websocketUrl } });
  },
  async plan(pod, resolved, { nodeName, clusterId, config }, signal): Promise<readonly PlannedRequest[]> {
    const identity = { ref: podRef(pod), owner: { clusterId, nodeName }, attempt: 0 };
    const translated = await translatePod(pod, resolved, { config, identity }, signal);
    const ports: readonly PlannedRequest[] = translated.labels.ownsPorts
      ? translated.settings.subnets.map((subnet) => ({
          purpose: `make a port on subnet ${subnet}`,
          method: "POST",
          path: "/v2.0/ports",
          note: "to Neutron; the subnet, its network and the security groups are looked up by name first",
        }))
      : [];
    const nets = translated.kind === "container" ? PodNetwork.planned(translated.labels, translated.settings) : [];
    const { path, body } = requestOf(translated, { config, nets, minor: newestMinor });
    return [
      ...ports,
      {
        purpose: `make the ${translated.kind}`,
        method: "POST",
        path: `/v1${path}`,
        headers: { "openstack-api-version": `container 1.${newestMinor}` },
        body,
        note: "with a lower API version where Zun's newest is one",
      },
      ...(translated.labels.floatingIp === undefined
        ? []
        : [
            {
              purpose: "give the pod a floating IP",
              method: "POST",
              path: "/v2.0/floatingips",
              note: "to Neutron, once Zun has made the pod's port",
            },
          ]),
    ];
  },
};
