import type { Clock, Random } from "@virtual-kubelet/clock";
import type { AdmissionChain, AdmissionOperation, AdmissionSubject } from "../admission/admission-plugin.ts";
import type { UserInfo } from "../authentication/user-info.ts";
import type { Cluster } from "./cluster.ts";
import type { Scales } from "./scales.ts";
import { isStorageKind, type Kind } from "../kinds/kind.ts";
import type { ManagedTypes } from "../managed-fields/managed-types.ts";
import type { KindTable } from "../kinds/kind-table.ts";
import type { Compaction } from "../storage/compaction.ts";
import { viewWithDefaults } from "../storage/defaulted-view.ts";
import { viewByWebhook } from "../storage/webhook-view.ts";
import { viewInVersion } from "../storage/version-view.ts";
import type { ObjectCollection, Storage } from "../storage/storage.ts";

/** Dependencies of the verbs. */
export interface RestContext {
  readonly clock: Clock;
  readonly random: Random;
  readonly storage: Storage;
  /** Which versions lists can no longer show. */
  readonly compaction: Compaction;
  /** Served kinds. Kinds of custom resources come and go. */
  readonly kinds: readonly Kind[];
  /** Table that `kinds` belongs to. */
  readonly kindTable: KindTable;
  /** The same objects, for the hooks of kinds. */
  readonly cluster: Cluster & Scales;
  /** Whether pods are given a service account. */
  readonly serviceAccounts: boolean;
  /** Checks and changes of every write. */
  readonly admission: AdmissionChain;
  readonly managedTypes: ManagedTypes;
  /** IPv4 range of cluster IPs in CIDR notation. */
  readonly serviceClusterIpRange: string;
}

/** Handling of unknown fields; source: Kubernetes' query parameter `fieldValidation`. */
export type FieldValidation = "Ignore" | "Warn" | "Strict";

/** Options of every write. */
export interface WriteOptions {
  /** Does everything except storing. */
  readonly dryRun?: boolean;
  /** Default: `Warn`. */
  readonly fieldValidation?: FieldValidation;
  /** Adds problems of the body's text to unknown fields; default: only those. @param unknown - paths */
  readonly strictProblems?: (unknown: readonly string[]) => string[];
  /** Called with warnings for the client. */
  readonly warn?: (message: string) => void;
  /** Default: {@link controllerManager}. */
  readonly user?: UserInfo;
  /** Such as `status`; default: `""`, the object itself. */
  readonly subresource?: string;
  /** Name of the field manager; default: `kube-controller-manager`. */
  readonly fieldManager?: string;
  /** Whether the object is the result of a server-side apply, which has set `metadata.managedFields`. */
  readonly isApplied?: boolean;
  /** Error for the result of a server-side apply whose types are wrong, although the schema allows them. Only for built-in kinds. */
  readonly conversionError?: (problem: string) => Error;
  /**
   * Problem with how the request writes an integer of a built-in kind, such as `1e3`; default: none.
   *
   * @param definition - such as `io.k8s.api.core.v1.Pod`
   */
  readonly numberProblem?: (definition: string) => string | undefined;
  /** Options of the request for admission, without `kind` and `apiVersion`; default: only `dryRun`. Called only if a plugin asks. */
  readonly requestOptions?: () => Readonly<Record<string, unknown>>;
}

/** User of the writes of the server's own controllers. */
export const controllerManager: UserInfo = { username: "system:kube-controller-manager", groups: ["system:authenticated"] };

/** Identifies an object; `namespace` is `""` for cluster-scoped kinds. */
export interface ObjectAddress {
  readonly kind: Kind;
  readonly namespace: string;
  readonly name: string;
}

/** Stored objects of the kind. */
export function collectionOf(context: RestContext, kind: Kind): ObjectCollection {
  const stored = context.storage.collection(kind);
  const collection = kind.completeStored === undefined ? stored : viewWithDefaults(stored, kind.completeStored);
  if (kind.webhookConversion !== undefined) return viewByWebhook(collection, kind, kind.webhookConversion);
  return kind.storageVersion === undefined && isStorageKind(kind) ? collection : viewInVersion(collection, kind);
}

/** Kind by group and plural name, in any version; `undefined` if there is none. */
export function findKind(context: RestContext, group: string, plural: string): Kind | undefined {
  return context.kinds.find((kind) => kind.group === group && kind.plural === plural);
}

/** What the admission plugins see of a write before its object. */
export function admissionSubject(
  operation: AdmissionOperation,
  { kind, namespace, name }: ObjectAddress,
  { user = controllerManager, subresource = "", dryRun = false, warn = ignore, requestOptions }: WriteOptions,
): AdmissionSubject {
  return {
    operation,
    kind,
    subresource,
    namespace,
    name,
    user,
    dryRun,
    warn,
    get options() {
      const optionsKind = optionsKinds[operation];
      if (optionsKind === undefined) return undefined;
      return { kind: optionsKind, apiVersion: "meta.k8s.io/v1", ...(requestOptions?.() ?? (dryRun ? { dryRun: ["All"] } : {})) };
    },
  };
}

const optionsKinds: Readonly<Partial<Record<AdmissionOperation, string>>> = {
  CREATE: "CreateOptions",
  UPDATE: "UpdateOptions",
  DELETE: "DeleteOptions",
};

function ignore(): void {}
