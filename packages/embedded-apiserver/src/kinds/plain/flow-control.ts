import type { Column, Kind } from "../kind.ts";
import { ageColumn, nameColumn } from "../columns/columns.ts";
import { plainKind, textColumn } from "./plain-kind.ts";
import { flowSchemaErrors, priorityLevelErrors } from "./validate-flow-control.ts";

/** Source of this file: Kubernetes v1.36.3 pkg/apis/flowcontrol/v1/defaults.go and pkg/printers/internalversion. */

const group = "flowcontrol.apiserver.k8s.io";

const limitColumn = (
  name: string,
  description: string,
  read: (limited: Readonly<Record<string, number>>, queuing?: Readonly<Record<string, number>>) => number | undefined,
): Column => ({
  name,
  type: "string",
  description,
  cell: ({ spec }) => (spec.limited === undefined ? "<none>" : (read(spec.limited, spec.limited.limitResponse?.queuing) ?? "<none>")),
});

/** Priority levels and flow schemas. They are stored, but requests are not queued. */
export const flowControlKinds: readonly Kind[] = [
  plainKind({
    group,
    kind: "FlowSchema",
    plural: "flowschemas",
    namespaced: false,
    hasStatus: true,
    counted: ["spec"],
    applyDefaults({ spec }) {
      spec.matchingPrecedence ||= 1000;
    },
    validate: flowSchemaErrors,
    columns: [
      nameColumn,
      textColumn(
        "PriorityLevel",
        "`name` is the name of the priority level configuration being referenced Required.",
        ({ spec }) => spec.priorityLevelConfiguration.name,
      ),
      {
        name: "MatchingPrecedence",
        type: "string",
        description: "`matchingPrecedence` is used to choose among the FlowSchemas that match a given request.",
        cell: ({ spec }) => spec.matchingPrecedence,
      },
      textColumn(
        "DistinguisherMethod",
        "`distinguisherMethod` defines how to compute the flow distinguisher for requests that match this schema.",
        ({ spec }) => spec.distinguisherMethod?.type ?? "<none>",
      ),
      ageColumn,
      textColumn("MissingPL", "references a broken or non-existent PriorityLevelConfiguration", ({ status }) => {
        const conditions: { type: string; status: string }[] = status.conditions ?? [];
        return conditions.find(({ type }) => type === "Dangling")?.status ?? "?";
      }),
    ],
  }),
  plainKind({
    group,
    kind: "PriorityLevelConfiguration",
    plural: "prioritylevelconfigurations",
    namespaced: false,
    hasStatus: true,
    counted: ["spec"],
    applyDefaults({ spec }) {
      if (spec.exempt !== undefined) spec.exempt = { nominalConcurrencyShares: 0, lendablePercent: 0, ...spec.exempt };
      if (spec.limited === undefined) return;
      spec.limited.nominalConcurrencyShares ??= 30;
      spec.limited.lendablePercent ??= 0;
      const queuing = spec.limited.limitResponse?.queuing;
      if (queuing === undefined) return;
      queuing.handSize ||= 8;
      queuing.queues ||= 64;
      queuing.queueLengthLimit ||= 50;
    },
    validate: priorityLevelErrors,
    columns: [
      nameColumn,
      textColumn(
        "Type",
        "`type` indicates whether this priority level is subject to limitation on request execution.",
        ({ spec }) => spec.type,
      ),
      limitColumn(
        "NominalConcurrencyShares",
        "`nominalConcurrencyShares` (NCS) contributes to the computation of the NominalConcurrencyLimit (NominalCL) of this level.",
        ({ nominalConcurrencyShares }) => nominalConcurrencyShares,
      ),
      limitColumn("Queues", "`queues` is the number of queues for this priority level.", (_limited, queuing) => queuing?.["queues"]),
      limitColumn(
        "HandSize",
        "`handSize` is a small positive number that configures the shuffle sharding of requests into queues.",
        (_limited, queuing) => queuing?.["handSize"],
      ),
      limitColumn(
        "QueueLengthLimit",
        "`queueLengthLimit` is the maximum number of requests allowed to be waiting in a given queue of this priority level at a time; excess requests are rejected.",
        (_limited, queuing) => queuing?.["queueLengthLimit"],
      ),
      ageColumn,
    ],
  }),
];
