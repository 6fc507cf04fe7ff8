import {
  imageRepository,
  podRef,
  type Capabilities,
  type DeepReadonly,
  type PlannedRequest,
  type Pod,
  type ProviderDefinition,
  type RegistryEntry,
} from "@virtual-kubelet/core";
import { NomadClient } from "./api/nomad-client.ts";
import { NomadHttp } from "./api/nomad-http.ts";
import { ObjectReader } from "./api/object-reader.ts";
import { readNomadTls } from "./api/nomad-tls.ts";
import { TokenSource } from "./api/token-source.ts";
import { nomadConfigSchema, nomadNamespaceOf, streamShares, type NomadConfig } from "./config.ts";
import { jobOf } from "./job/job-of.ts";
import { readPodContent } from "./job/pod-content.ts";
import { policyAnnotations } from "./job/annotations.ts";
import { jobSettingsOf } from "./job/settings.ts";
import { NomadProvider } from "./nomad-provider.ts";
import { reasons } from "./reasons.ts";

/** What Nomad can do of a pod; what single drivers and configurations cannot is refused by field. */
const capabilities: Capabilities = {
  initContainers: true,
  sidecarContainers: true,
  multipleContainers: true,
  env: true,
  lifecycleHooks: true,
  probes: true,
  restarts: true,
  hostNetwork: true,
  hostPorts: true,
  securityContext: true,
  privileged: true,
  gpus: true,
  volumes: ["configMap", "downwardAPI", "emptyDir", "hostPath", "persistentVolumeClaim", "projected", "secret"],
  operatingSystems: ["linux"],
};

/** MHz of a CPU in plans, where no client was asked. */
const plannedMhz = 1000;

/** What stands in plans for the contents of a pod's `imagePullSecrets`, which are not read. */
function plannedLogins(pod: DeepReadonly<Pod>): readonly RegistryEntry[] {
  const names = (pod.spec?.imagePullSecrets ?? []).map(({ name = "" }) => name);
  const text = `[imagePullSecrets: ${names.join(", ")}]`;
  return [...(pod.spec?.initContainers ?? []), ...(pod.spec?.containers ?? [])].map(({ image = "" }) => ({
    key: imageRepository(image),
    credentials: { username: text, password: text },
  }));
}

/** The provider of HashiCorp Nomad, as the program and {@link "@virtual-kubelet/core"!VirtualNode} take it. */
export const provider: ProviderDefinition<NomadConfig> = {
  name: "nomad",
  capabilities,
  reasons,
  configSchema: nomadConfigSchema,
  policy: ({ policy }) => policy,
  policyAnnotations,
  async create(host, config) {
    const { address, region, namespace, httpAuth, maxSockets } = config;
    const tokens = new TokenSource(config);
    host.logger.info({ address, from: tokens.origin }, "source of Nomad's ACL token");
    const http = new NomadHttp({
      address,
      region,
      httpAuth,
      maxSockets,
      maxStreams: streamShares(config).users,
      tokens,
      tls: await readNomadTls(config.tls),
    });
    const reader = new ObjectReader(host);
    return new NomadProvider({
      host,
      config,
      client: new NomadClient(http, reader, namespace),
      reader,
      close: () => http[Symbol.asyncDispose](),
    });
  },
  async plan(pod, resolved, { nodeName, clusterId, config }, signal) {
    const settings = jobSettingsOf(pod, config, { mhzPerCore: config.mhzPerCore ?? plannedMhz, memoryOversubscription: false });
    const content = await readPodContent(pod, settings, { resolved, pullSecrets: async () => plannedLogins(pod) }, signal);
    const { job, variables } = jobOf(pod, content, { clusterId, nodeName }, settings);
    const namespace = nomadNamespaceOf(config, podRef(pod));
    const query = `?namespace=${encodeURIComponent(namespace)}${config.region === undefined ? "" : `&region=${config.region}`}`;
    return [
      ...variables.map((variable): PlannedRequest => ({
        purpose: "write what the pod's templates read",
        method: "PUT",
        path: `/v1/var/${variable.Path}${query}`,
        body: variable,
      })),
      {
        purpose: "register the job",
        method: "PUT",
        path: `/v1/jobs${query}`,
        body: { Job: job, EnforceIndex: true, JobModifyIndex: 0 },
        ...(config.mhzPerCore === undefined && { note: `CPU is in MHz, for clients of ${plannedMhz} MHz a core; the real ones are asked` }),
      },
    ];
  },
};
