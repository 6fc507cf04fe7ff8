import type { DeepReadonly, Pod } from "@virtual-kubelet/kube-client";
import type { PodPolicy, PolicyAnnotation, PolicyVolume } from "../policy/pod-policy.ts";
import type { ConditionCatalogue } from "../reasons/condition-info.ts";
import type { ReasonCatalogue } from "../reasons/reason-info.ts";
import type { Capabilities } from "./capabilities.ts";
import type { BackEndManifest, BackEndManifestContext, NeededRights } from "./needed-rights.ts";
import type { DiscoveryHost, NodeDiscovery } from "./node-discovery.ts";
import type { PlanContext, PlannedRequest } from "./planned-request.ts";
import type { ProviderHost } from "./provider-host.ts";
import type { Provider } from "./provider.ts";
import type { ResolvedPod } from "./resolved-pod.ts";

/**
 * The object that a provider package exports as `provider`.
 *
 * @typeParam Config - the parsed configuration
 */
export interface ProviderDefinition<Config = unknown> {
  /** Value of `--provider` that selects the provider. */
  readonly name: string;
  /** Other values that select it. */
  readonly aliases?: readonly string[] | undefined;
  readonly capabilities: Capabilities;
  /** Schema of the configuration, for example a zod schema. */
  readonly configSchema: ConfigSchema<Config>;
  /**
   * Returns the policy that the configuration sets for pods. A pod that asks for more never reaches the provider. Absent or `undefined`:
   * pods may ask for everything that the capabilities offer.
   */
  policy?(config: Config): PodPolicy | undefined;
  /** Annotations by which a pod chooses how the provider runs it; the policy has to allow their values. Default: none. */
  readonly policyAnnotations?: readonly PolicyAnnotation[] | undefined;
  /** Fields by which a pod names volumes of the back end; the policy has to allow their IDs. Default: none. */
  readonly policyVolumes?: readonly PolicyVolume[] | undefined;
  /**
   * Reasons of events and statuses that the provider writes and core does not, for `virtual-kubelet explain` and the reference. Default: none.
   */
  readonly reasons?: ReasonCatalogue | undefined;
  /**
   * Conditions of pods and nodes that the provider writes, and neither core nor Kubernetes has, for `virtual-kubelet explain` and the reference.
   * Default: none.
   */
  readonly conditions?: ConditionCatalogue | undefined;
  /**
   * Returns names of provisioners, as in StorageClasses, whose volumes the provider creates and removes with this configuration; see
   * {@link VolumeProvisioner}. The program's RBAC rules include the rights for that. Default: none.
   */
  provisioners?(config: Config): readonly string[];
  /**
   * Returns rights at the cluster's API server that the provider itself uses with this configuration, in addition to those of the program. The
   * printed manifests and the check of the program's rights include them. Default: none.
   */
  neededRights?(config: Config): readonly NeededRights[];
  /**
   * Returns objects that an administrator of the back end applies there, if the back end is itself a Kubernetes cluster: for example a service
   * account with a Role. `virtual-kubelet manifests far` prints them. They never mix with those of the cluster itself. Default: none.
   */
  backEndManifest?(config: Config, context: BackEndManifestContext): BackEndManifest;
  /**
   * Returns the nodes of the back end if this configuration asks for one virtual node for each of them; `undefined` if it asks for a single
   * node. Must open nothing, and not wait for the back end, before {@link NodeDiscovery.discover}. {@link create} is then called for each node with the configuration that
   * {@link NodeDiscovery.configOf} returns, which need not fit {@link configSchema}. Default: a single node.
   */
  discoverNodes?(host: DiscoveryHost, config: Config): NodeDiscovery<Config> | undefined;
  /**
   * Creates the provider of one node. Must not wait for the back end, because `ping` checks that.
   *
   * @param config - the output of {@link configSchema}
   * @throws InvalidInputError for a configuration that can never work; the program then exits with 78, as it does for a system error about
   * a file that is missing or cannot be read. It exits with 1 for any other error
   */
  create(host: ProviderHost, config: Config): Provider | Promise<Provider>;
  /**
   * Returns the requests that {@link PodLifecycleHandler.createPod} would send for a pod, in order and built by the same code. Contacts
   * no back end: a request that depends on an answer assumes the usual answer and says so in its note. Used by
   * `virtual-kubelet plan` and by tests.
   *
   * @throws the same errors as `createPod` for the pod: UnsupportedError, InvalidInputError, TerminalError
   */
  plan?(
    pod: DeepReadonly<Pod>,
    resolved: ResolvedPod,
    context: PlanContext<Config>,
    signal: AbortSignal,
  ): Promise<readonly PlannedRequest[]>;
}

/** The part of a zod schema that the program uses. */
export interface ConfigSchema<Config> {
  /** Returns the JSON Schema of the input, for documentation and for suggestions of misspelled keys; every zod 4 schema has this method. */
  toJSONSchema?(options?: { io?: "input" | "output" }): object;
  /** Parses the input without throwing; each issue names its field by path. */
  safeParse(input: unknown):
    | { readonly success: true; readonly data: Config }
    | {
        readonly success: false;
        readonly error: {
          readonly issues: readonly {
            readonly path: readonly PropertyKey[];
            readonly message: string;
            readonly code?: string | undefined;
          }[];
        };
      };
}
