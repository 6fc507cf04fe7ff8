import { z } from "zod";

// Unknown fields are kept. A known field of another type makes an object unreadable.

const time = z.string().refine((text) => !Number.isNaN(Date.parse(text)), "expected a time such as 2026-11-21T10:00:00Z");

const eventSchema = z.looseObject({
  count: z.int().min(0).nullish(),
  firstTimestamp: time.nullish(),
  lastTimestamp: time.nullish(),
  name: z.string().nullish(),
  message: z.string().nullish(),
  type: z.string().nullish(),
});

const stateSchema = z.looseObject({
  state: z.string().nullish(),
  startTime: time.nullish(),
  exitCode: z.int().nullish(),
  finishTime: time.nullish(),
  detailStatus: z.string().nullish(),
});

const viewSchema = z.looseObject({
  restartCount: z.int().min(0).nullish(),
  currentState: stateSchema.nullish(),
  previousState: stateSchema.nullish(),
  events: z.array(eventSchema).nullish(),
});

const probeSchema = z.looseObject({
  initialDelaySeconds: z.number().nullish(),
  periodSeconds: z.number().nullish(),
  timeoutSeconds: z.number().nullish(),
});

const containerSchema = z.looseObject({
  name: z.string(),
  properties: z.looseObject({
    image: z.string().nullish(),
    instanceView: viewSchema.nullish(),
    readinessProbe: probeSchema.nullish(),
  }),
});

const tags = z.record(z.string(), z.string());

/** A container group, as it is returned alone and, without its instance view, in lists. */
export const groupSchema: z.ZodType<ContainerGroup> = z.looseObject({
  id: z.string().min(1),
  name: z.string().min(1),
  tags: tags.nullish(),
  properties: z.looseObject({
    provisioningState: z.string().nullish(),
    restartPolicy: z.string().nullish(),
    containers: z.array(containerSchema).min(1),
    initContainers: z.array(containerSchema).nullish(),
    ipAddress: z.looseObject({ ip: z.string().nullish(), fqdn: z.string().nullish(), type: z.string().nullish() }).nullish(),
    extensions: z.array(z.looseObject({ properties: z.looseObject({ extensionType: z.string().nullish() }).nullish() })).nullish(),
    instanceView: z.looseObject({ state: z.string().nullish(), events: z.array(eventSchema).nullish() }).nullish(),
  }),
});

/** Of an entry of a list, what tells which it is. */
export const listedSchema: z.ZodType<ListedGroup> = z.looseObject({
  id: z.string().min(1),
  name: z.string().min(1),
  tags: z.unknown(),
  properties: z.looseObject({ provisioningState: z.string().nullish() }).nullish(),
});

/** Output of a container. */
export const logsSchema: z.ZodType<{ readonly content: string | null }> = z.looseObject({ content: z.string().nullable() });

/** Address and password of a WebSocket. The password is a secret. */
export const socketSchema: z.ZodType<{ readonly webSocketUri: string; readonly password: string }> = z.looseObject({
  webSocketUri: z.url({ protocol: /^wss?$/ }),
  password: z.string(),
});

export interface GroupEvent {
  readonly count?: number | null | undefined;
  readonly firstTimestamp?: string | null | undefined;
  readonly lastTimestamp?: string | null | undefined;
  /** Such as `Pulling` and `Unhealthy`. */
  readonly name?: string | null | undefined;
  readonly message?: string | null | undefined;
  /** `Normal` or `Warning`. */
  readonly type?: string | null | undefined;
}

export interface ContainerInstanceState {
  /** `Running`, `Waiting`, `Pending`, `Terminated`, `Succeeded`, `Failed`, … */
  readonly state?: string | null | undefined;
  readonly startTime?: string | null | undefined;
  readonly exitCode?: number | null | undefined;
  readonly finishTime?: string | null | undefined;
  readonly detailStatus?: string | null | undefined;
}

interface ContainerInstanceView {
  readonly restartCount?: number | null | undefined;
  readonly currentState?: ContainerInstanceState | null | undefined;
  readonly previousState?: ContainerInstanceState | null | undefined;
  readonly events?: readonly GroupEvent[] | null | undefined;
}

/** Container of a {@link ContainerGroup}. */
export interface GroupMember {
  readonly name: string;
  readonly properties: {
    readonly image?: string | null | undefined;
    readonly instanceView?: ContainerInstanceView | null | undefined;
    readonly readinessProbe?:
      | {
          readonly initialDelaySeconds?: number | null | undefined;
          readonly periodSeconds?: number | null | undefined;
          readonly timeoutSeconds?: number | null | undefined;
        }
      | null
      | undefined;
  };
}

export interface ContainerGroup {
  /** Resource id. */
  readonly id: string;
  readonly name: string;
  readonly tags?: Readonly<Record<string, string>> | null | undefined;
  readonly properties: {
    readonly provisioningState?: string | null | undefined;
    readonly restartPolicy?: string | null | undefined;
    readonly containers: readonly GroupMember[];
    readonly initContainers?: readonly GroupMember[] | null | undefined;
    readonly ipAddress?:
      | { readonly ip?: string | null | undefined; readonly fqdn?: string | null | undefined; readonly type?: string | null | undefined }
      | null
      | undefined;
    readonly extensions?:
      | readonly { readonly properties?: { readonly extensionType?: string | null | undefined } | null | undefined }[]
      | null
      | undefined;
    readonly instanceView?:
      | { readonly state?: string | null | undefined; readonly events?: readonly GroupEvent[] | null | undefined }
      | null
      | undefined;
  };
}

/** Entry of a list of groups. */
export interface ListedGroup {
  readonly id: string;
  readonly name: string;
  readonly tags?: unknown;
  readonly properties?: { readonly provisioningState?: string | null | undefined } | null | undefined;
}
