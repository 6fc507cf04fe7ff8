import type { PodRef } from "@virtual-kubelet/core";
import { matchesObject } from "../config/pattern.ts";
import { copyName, podSecretName } from "../identity/names.ts";
import type { CarryConfig } from "../config/carry.ts";
import type { FarOwner } from "../identity/tags.ts";
import type { Findings } from "./findings.ts";

/** A config map or secret of the home pod's namespace that has a copy in the far namespace. */
export interface CopyReference {
  readonly kind: "ConfigMap" | "Secret";
  /** Name in the home namespace. */
  readonly name: string;
  /** Name of the copy. */
  readonly farName: string;
  /** The first field that refers to it, such as `spec.volumes[0].configMap.name`. */
  readonly fieldPath: string;
}

/** A file that only this pod has: a key of the pod's own secret. */
export interface FileReference {
  /** Key in the secret. */
  readonly key: string;
  /** Volume of the home pod. */
  readonly volume: string;
  /** Path of the file in that volume. */
  readonly path: string;
}

/** What a far pod needs in its namespace before it can start. */
export interface FarReferences {
  readonly copies: readonly CopyReference[];
  /** The pod's own secret; `undefined` if the pod has no files of its own. */
  readonly podSecret: { readonly name: string; readonly files: readonly FileReference[] } | undefined;
}

/** Renames a pod's references, and collects what they refer to. */
export class References {
  readonly #copies = new Map<string, CopyReference>();
  readonly #files: FileReference[] = [];
  /** Name of the pod's own secret. */
  readonly podSecret: string;
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

  /** Without duplicates, in the order of their fields. */
  get all(): FarReferences {
    return {
      copies: [...this.#copies.values()],
      podSecret: this.#files.length === 0 ? undefined : { name: this.podSecret, files: this.#files },
    };
  }

  /** Adds a key to the pod's own secret. */
  addFile(file: FileReference): void {
    this.#files.push(file);
  }

  /** Returns a reference with the name of the copy. One without a name, which the API allows, stays as it is. */
  rename<R extends { name?: string | undefined }>(kind: CopyReference["kind"], reference: R, fieldPath: string): R {
    return reference.name ? { ...reference, name: this.farName(kind, reference.name, `${fieldPath}.name`) } : reference;
  }

  /** Returns the name of the copy. An object that the configuration excludes is refused. */
  farName(kind: CopyReference["kind"], name: string, fieldPath: string): string {
    const known = this.#copies.get(`${kind}/${name}`);
    if (known) return known.farName;
    const [setting, patterns, words] =
      kind === "ConfigMap"
        ? (["carry.configMaps", this.#carry.configMaps, "config map"] as const)
        : (["carry.secrets", this.#carry.secrets, "secret"] as const);
    const fullName = `${this.#namespace}/${name}`;
    if (!matchesObject(patterns, { namespace: this.#namespace, name }))
      this.#findings.refuse(
        fieldPath,
        `the ${words} ${fullName} stays in the home cluster; a pattern in ${setting} that matches it lets it travel`,
      );
    const farName = copyName(this.#owner, kind, { namespace: this.#namespace, name });
    this.#copies.set(`${kind}/${name}`, { kind, name, farName, fieldPath });
    return farName;
  }
}
