import { randomUUID } from "node:crypto";
import { cloudProject } from "./fake-keystone.ts";
import type { ZunAnswer, ZunCall } from "./fake-zun.ts";

/** Fields of a volume that Zun reads. */
export interface FakeVolume {
  readonly id: string;
  /** GiB. */
  readonly size: number;
}

/** Fake of Cinder, in which Zun's API finds and creates volumes. Shapes: Cinder's API reference, v3. */
export class FakeCinder {
  readonly volumes: FakeVolume[] = [{ id: "5a1f8a3e-7b1d-4c39-9f0e-2f6a1c3b4d5e", size: 10 }];

  /** Answers a call; the path is without the version: `/PROJECT/volumes/ID`. */
  answer({ method, path, body }: ZunCall): ZunAnswer {
    const [, , collection = "", id = ""] = path.split("/");
    if (collection !== "volumes") return missing(collection);
    if (method === "POST") {
      const { volume } = body as { readonly volume: { readonly size: number } };
      const made = { id: randomUUID(), size: volume.size };
      this.volumes.push(made);
      return { status: 202, body: { volume: view(made) } };
    }
    const found = this.volumes.find((volume) => volume.id === id);
    return found ? { status: 200, body: { volume: view(found) } } : missing(id);
  }
}

function view(volume: FakeVolume): object {
  return { ...volume, status: "available", attachments: [], multiattach: false, "os-vol-tenant-attr:tenant_id": cloudProject.id };
}

function missing(what: string): ZunAnswer {
  return { status: 404, body: { itemNotFound: { code: 404, message: `Volume ${what} could not be found.` } } };
}
