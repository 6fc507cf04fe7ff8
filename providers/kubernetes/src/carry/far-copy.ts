import { SingleFlight, withDeadline } from "@virtual-kubelet/async";
import type { Clock } from "@virtual-kubelet/core";
import type { DeepReadonly, KubernetesObject, ObjectMeta, StoreChange } from "@virtual-kubelet/kube-client";
import { isOwnedBy, tagAnnotations, type FarOwner } from "../identity/tags.ts";
import type { Content } from "./content.ts";
import type { FarObject } from "./far-object.ts";
import type { FarWriter, Stored } from "./far-writer.ts";

/** What is known of the far object. */
type Known =
  /** As the watch shows it. */
  | { readonly kind: "unread" }
  | { readonly kind: "absent" }
  /** `isVerified`: whether this program wrote it; otherwise its annotation says so. */
  | { readonly kind: "stored"; readonly stored: Stored; readonly version: string; readonly isVerified: boolean };

export interface FarCopyOptions {
  readonly object: FarObject;
  readonly owner: FarOwner;
  readonly writer: Pick<FarWriter, "remove" | "write">;
  readonly clock: Clock;
  /** Metadata of the far object as the watch shows it; `undefined`: there is none with the node's labels. */
  listed(): DeepReadonly<ObjectMeta> | undefined;
}

/** Maximum number of writes that one call waits for. More means that the content changes faster than it is written. */
const maxFlights = 5;

/** Maximum time of one write. Many pods may wait for it, so that it must not hang. */
const writeTimeoutMs = 30_000;

/** One far config map or secret: one write at a time, and none where nothing changed. */
export class FarCopy {
  readonly #options: FarCopyOptions;
  readonly #flights = new SingleFlight<void>();
  #known: Known = { kind: "unread" };
  /** Whether the far object may differ from what is known: during a write, and after somebody else's. */
  #isDoubtful = false;
  #isWriting = false;

  constructor(options: FarCopyOptions) {
    this.#options = options;
  }

  get object(): FarObject {
    return this.#options.object;
  }

  /** Whether only an annotation says that the far object holds the right values. */
  get isUnverified(): boolean {
    return this.#known.kind === "stored" && !this.#known.isVerified;
  }

  /** Writes the far object at the next call of {@link settle}, whatever is known of it. */
  distrust(): void {
    this.#isDoubtful = true;
  }

  /**
   * Makes the far object hold what is read; `undefined` removes it.
   *
   * @throws what `read` and {@link FarWriter.write} do
   */
  async settle(read: (signal: AbortSignal) => Promise<Content | undefined>, signal: AbortSignal): Promise<void> {
    for (let flight = 0; flight < maxFlights; flight++) {
      const content = await read(signal);
      if (this.#isSettled(content)) return;
      // A write under way may have begun with older values: they are read again after it.
      await this.#flights.run("write", (inner) => this.#write(content, inner), signal);
    }
  }

  /** Removes the far object, if it is still unused when earlier writes have ended. */
  async remove(isUnused: () => boolean, signal: AbortSignal): Promise<void> {
    for (let flight = 0; flight < maxFlights; flight++) {
      if (!isUnused() || (this.#known.kind === "absent" && !this.#isDoubtful)) return;
      await this.#flights.run("write", (inner) => (isUnused() ? this.#write(undefined, inner) : Promise.resolve()), signal);
    }
  }

  /** Takes note of a change that the watch shows. @returns whether it is somebody else's */
  onChange({ type, object }: StoreChange<KubernetesObject>): boolean {
    const { uid, resourceVersion } = object.metadata ?? {};
    if (this.#known.kind === "unread") return false;
    if (type === "deleted" && (this.#known.kind === "absent" || (this.#known.kind === "stored" && this.#known.stored.uid !== uid)))
      return false;
    if (type !== "deleted" && this.#known.kind === "stored" && this.#known.stored.resourceVersion === resourceVersion) {
      if (!this.#isWriting) this.#isDoubtful = false;
      return false;
    }
    this.#isDoubtful = true;
    return true;
  }

  #isSettled(content: Content | undefined): boolean {
    if (this.#isDoubtful) return false;
    switch (this.#known.kind) {
      case "absent":
        return content === undefined;
      case "stored":
        return content?.version === this.#known.version;
      case "unread":
        return content === undefined ? this.#options.listed() === undefined : this.#adopt(content);
      default:
        return this.#known satisfies never;
    }
  }

  /** Takes over the copy of an earlier program, if it was made of the same version. */
  #adopt({ version }: Content): boolean {
    const metadata = this.#options.listed();
    const { uid, resourceVersion, annotations } = metadata ?? {};
    const isSame = isOwnedBy(metadata, this.#options.owner) && annotations?.[tagAnnotations.copyVersion] === version;
    if (!isSame || !uid || !resourceVersion || metadata?.deletionTimestamp !== undefined) return false;
    this.#known = { kind: "stored", stored: { uid, resourceVersion }, version, isVerified: false };
    return true;
  }

  async #write(content: Content | undefined, signal: AbortSignal): Promise<void> {
    const { clock, object, writer, listed } = this.#options;
    const deadline = {
      clock,
      timeoutMs: writeTimeoutMs,
      what: `write ${object.title} to ${object.namespace}/${object.name} of the far cluster`,
    };
    const before = listed()?.resourceVersion;
    this.#isDoubtful = true;
    this.#isWriting = true;
    try {
      if (content) {
        const stored = await withDeadline(deadline, signal, (inner) => writer.write(object, content, this.#guessUid(), inner));
        this.#known = { kind: "stored", stored, version: content.version, isVerified: true };
      } else {
        await withDeadline(deadline, signal, (inner) => writer.remove(object, inner));
        this.#known = { kind: "absent" };
      }
    } finally {
      this.#isWriting = false;
    }
    const after = listed()?.resourceVersion;
    const own = this.#known.kind === "stored" ? this.#known.stored.resourceVersion : undefined;
    this.#isDoubtful = after !== before && after !== own;
  }

  #guessUid(): string | undefined {
    if (this.#known.kind === "stored") return this.#known.stored.uid;
    const metadata = this.#options.listed();
    return isOwnedBy(metadata, this.#options.owner) ? metadata?.uid : undefined;
  }
}
