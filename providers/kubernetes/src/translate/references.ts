import type { PodRef } from "@virtual-kubelet/core";
import { podFileKey, type Carried, type CarriedReference, type PodFile } from "../carry/carried.ts";
import type { CarryConfig } from "../config/carry.ts";
import { matchesObject } from "../config/pattern.ts";
import { copyName, podSecretName } from "../identity/names.ts";
import type { FarOwner } from "../identity/tags.ts";
import type { Findings } from "./findings.ts";

/** Config map that Kubernetes puts into every namespace. It belongs to home's tokens, and everybody may know it. */
const publicCertificates = "kube-root-ca.crt";

/** One field of a pod that names a config map or secret. */
export interface NamingField {
  readonly kind: CarriedReference["kind"];
  /** Such as `spec.volumes[0].configMap.name`. */
  readonly fieldPath: string;
  /** Whether the pod starts without the object. Default: `false`. */
  readonly optional?: boolean | undefined;
}

/** Renames a pod's references to their copies, and collects what has to be carried. */
export class References {
  /** Name of the pod's own secret. */
  readonly podSecret: string;
  readonly #references = new Map<string, CarriedReference>();
  readonly #files = new Map<string, PodFile>();
  readonly #owner: FarOwner;
  readonly #namespace: string;
  readonly #carry: CarryConfig;
  readonly #findings: Findings;

  constructor(pod: PodRef, owner: FarOwner, carry: CarryConfig, findings: Findings) {
    this.podSecret = podSecretName(owner, pod);
    this.#owner = owner;
    this.#namespace = pod.namespace;
    this.#carry = carry;
    this.#findings = findings;
  }

  /** Without duplicates, in the order of the fields. */
  get carried(): Carried {
    return { references: [...this.#references.values()], files: [...this.#files.values()] };
  }

  /** Adds a file to the pod's own secret. @returns its key */
  addFile(volume: string, path: string): string {
    const key = podFileKey(volume, path);
    this.#files.set(key, { volume, path, key });
    return key;
  }

  /** Returns a reference with the name of the copy. One without a name, which the API allows, stays as it is. */
  rename<R extends { name?: string | undefined; optional?: boolean | undefined }>(reference: R, field: NamingField): R {
    const { name, optional } = reference;
    return name ? { ...reference, name: this.copyOf(name, { optional, ...field, fieldPath: `${field.fieldPath}.name` }) } : reference;
  }

  /** Returns the name of the copy. An object that the configuration excludes is refused. */
  copyOf(name: string, { kind, fieldPath, optional = false }: NamingField): string {
    const object = { namespace: this.#namespace, name };
    const id = `${kind}/${name}`;
    const known = this.#references.get(id);
    if (!known) this.#check(object, kind, fieldPath);
    // The pod waits for an object that one of its fields needs.
    this.#references.set(id, known ? { ...known, optional: known.optional && optional } : { kind, ...object, optional, fieldPath });
    return copyName(this.#owner, kind, object);
  }

  #check(object: { readonly namespace: string; readonly name: string }, kind: CarriedReference["kind"], fieldPath: string): void {
    const [setting, words] = kind === "ConfigMap" ? (["configMaps", "config map"] as const) : (["secrets", "secret"] as const);
    if (matchesObject(this.#carry[setting], object) || (kind === "ConfigMap" && object.name === publicCertificates)) return;
    const fullName = `${object.namespace}/${object.name}`;
    this.#findings.refuse(
      fieldPath,
      `the ${words} ${fullName} stays in the home cluster; a pattern in carry.${setting} that matches it lets it travel`,
    );
  }
}
