import { isIP } from "node:net";
import { z } from "zod";
import {
  type ZunAddresses,
  type ZunCapsule,
  type ZunContainer,
  type ZunExec,
  type ZunPage,
  type ZunQuota,
  type ZunStats,
  zunTime,
} from "./zun-objects.ts";

// Unknown fields are left out, so that a later Zun may add some. A known field of another type makes an object unreadable.

/** What a container or capsule can be in. Source: zun 18.0.0 zun/common/consts.py; capsules have words of their own there. */
const statuses = [
  "Creating",
  "Created",
  "Running",
  "Stopped",
  "Paused",
  "Restarting",
  "Rebuilding",
  "Deleting",
  "Deleted",
  "Error",
  "Dead",
  "Unknown",
  "Pending",
  "Succeeded",
  "Failed",
] as const;

/** It becomes part of a URL's path. */
const uuid = z.string().regex(/^[A-Za-z0-9][A-Za-z0-9-]{0,63}$/, "expected a UUID");
const time = z.string().refine((text) => zunTime(text) !== undefined, "expected a time such as 2026-11-21 10:00:00");

/** Most that Zun can say of an interval: longer than that no container runs. */
const maxAmount = 1_000_000;

/** Zun's words on how a container is. Those that tell of an end, or for how long it has run, are read; of the others only the length matters. */
const statusDetail = z
  .string()
  .max(1_000)
  .superRefine((text, context) => {
    const [, code] = /^Exited\((-?\d+)\)/.exec(text) ?? [];
    // Docker's -1 is a container that it could not run.
    if (code !== undefined && !(Number(code) >= -1 && Number(code) <= 255)) context.addIssue("its exit code is none: expected 0 to 255");
    if ((text.match(/\d+/g) ?? []).some((amount) => Number(amount) > maxAmount)) context.addIssue("its interval is none");
  });

/** A zone, as in `fe80::1%eth0`, is no part of an address that Kubernetes takes. */
const address = z.string().refine((text) => isIP(text) !== 0 && !text.includes("%"), "expected an IP address");

const addresses: z.ZodType<ZunAddresses> = z.record(
  z.string(),
  z.array(
    z
      .object({ addr: address.nullish(), version: z.union([z.literal(4), z.literal(6)]).nullish(), port: uuid.nullish() })
      .refine(({ addr, version }) => addr == null || version == null || isIP(addr) === version, "expected an address of its version"),
  ),
);

const common = {
  uuid,
  name: z.string().nullish(),
  status: z.enum(statuses).nullish(),
  status_reason: z.string().nullish(),
  addresses: addresses.nullish(),
  created_at: time.nullish(),
  updated_at: time.nullish(),
};

/** A container of a list, or looked at by itself; or a capsule's member. Its labels are read by themselves. */
export const containerSchema: z.ZodType<ZunContainer> = z.object({
  ...common,
  image: z.string().nullish(),
  status_detail: statusDetail.nullish(),
  task_state: z.string().nullish(),
  interactive: z.boolean().nullish(),
  tty: z.boolean().nullish(),
});

/** A capsule of a list, or looked at by itself. */
export const capsuleSchema: z.ZodType<ZunCapsule> = z.object({
  ...common,
  containers: z.array(containerSchema).nullish(),
  init_containers: z.array(containerSchema).nullish(),
});

/** One page of a list; its objects are read one by one. */
export const pageSchemas: Readonly<Record<"containers" | "capsules", z.ZodType<ZunPage>>> = {
  containers: z.object({ containers: z.array(z.unknown()), next: z.string().nullish() }),
  capsules: z.object({ capsules: z.array(z.unknown()), next: z.string().nullish() }),
};

/** Of any object, what tells which it is. */
export const uuidSchema: z.ZodType<{ readonly uuid: string }> = z.object({ uuid });

/** Of an object in a list, what may tell whose it is. */
export const identitySchema: z.ZodType<{ readonly name?: unknown; readonly labels?: unknown }> = z.object({
  name: z.unknown(),
  labels: z.unknown(),
});

/** A command that is to run, or has run. */
export const execSchema: z.ZodType<ZunExec> = z.object({
  output: z.string().nullish(),
  exit_code: z.int().min(0).max(255).nullish(),
  // It becomes part of a URL.
  exec_id: z
    .string()
    .regex(/^[0-9a-zA-Z]+$/)
    .nullish(),
  token: z.string().nullish(),
  proxy_url: z.string().nullish(),
});

/** Bytes of memory that no machine has, in MiB. */
const maxMebibytes = 2 ** 33;
const mebibytes = z.number().min(0).max(maxMebibytes);

/** Figures of a container. */
export const statsSchema: z.ZodType<ZunStats> = z.object({
  "CPU %": z.number().optional(),
  "MEM USAGE(MiB)": mebibytes.optional(),
  "MEM LIMIT(MiB)": mebibytes.optional(),
  "NET I/O(B)": z.string().optional(),
});

/** Zun writes -1 for what is not limited. */
const limit = z.number().min(-1).max(Number.MAX_SAFE_INTEGER).optional();

/** Limits of the project. */
export const quotaSchema: z.ZodType<ZunQuota> = z.object({ containers: limit, memory: limit, cpu: limit });

/** The URL of a websocket. */
export const socketUrlSchema: z.ZodType<string> = z.url({ protocol: /^wss?$/ });

/** The document that names Zun's versions. Source: zun 18.0.0 zun/api/controllers/versions.py. */
export const versionSchema: z.ZodType<{
  readonly versions: readonly { readonly id: string; readonly max_version?: string | undefined }[];
}> = z.object({ versions: z.array(z.object({ id: z.string(), max_version: z.string().optional() })) });
