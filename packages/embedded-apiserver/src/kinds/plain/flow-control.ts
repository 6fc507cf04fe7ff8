import { byCodeUnits } from "../../json/key-order.ts";
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
    // Source: k8s.io/apiserver v0.36.3 pkg/util/apihelpers/helpers.go, `FlowSchemaSequence`.
    compareRows: (a, b) => a["spec"].matchingPrecedence - b["spec"].matchingPrecedence || byCodeUnits(a.metadata.name, b.metadata.name),
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
        description:
          "`matchingPrecedence` is used to choose among the FlowSchemas that match a given request. The chosen FlowSchema is among those with the numerically lowest (which we take to be logically highest) MatchingPrecedence.  Each MatchingPrecedence value must be ranged in [1,10000]. Note that if the precedence is not specified, it will be set to 1000 as default.",
        cell: ({ spec }) => spec.matchingPrecedence,
      },
      textColumn(
        "DistinguisherMethod",
        "`distinguisherMethod` defines how to compute the flow distinguisher for requests that match this schema. `nil` specifies that the distinguisher is disabled and thus will always be the empty string.",
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
        '`type` indicates whether this priority level is subject to limitation on request execution.  A value of `"Exempt"` means that requests of this priority level are not subject to a limit (and thus are never queued) and do not detract from the capacity made available to other priority levels.  A value of `"Limited"` means that (a) requests of this priority level _are_ subject to limits and (b) some of the server\'s limited capacity is made available exclusively to this priority level. Required.',
        ({ spec }) => spec.type,
      ),
      limitColumn(
        "NominalConcurrencyShares",
        '`nominalConcurrencyShares` (NCS) contributes to the computation of the NominalConcurrencyLimit (NominalCL) of this level. This is the number of execution seats available at this priority level. This is used both for requests dispatched from this priority level as well as requests dispatched from other priority levels borrowing seats from this level. The server\'s concurrency limit (ServerCL) is divided among the Limited priority levels in proportion to their NCS values:\n\nNominalCL(i)  = ceil( ServerCL * NCS(i) / sum_ncs ) sum_ncs = sum[priority level k] NCS(k)\n\nBigger numbers mean a larger nominal concurrency limit, at the expense of every other priority level.\n\nIf not specified, this field defaults to a value of 30.\n\nSetting this field to zero supports the construction of a "jail" for this priority level that is used to hold some request(s)',
        ({ nominalConcurrencyShares }) => nominalConcurrencyShares,
      ),
      limitColumn(
        "Queues",
        "`queues` is the number of queues for this priority level. The queues exist independently at each apiserver. The value must be positive.  Setting it to 1 effectively precludes shufflesharding and thus makes the distinguisher method of associated flow schemas irrelevant.  This field has a default value of 64.",
        (_limited, queuing) => queuing?.["queues"],
      ),
      limitColumn(
        "HandSize",
        "`handSize` is a small positive number that configures the shuffle sharding of requests into queues.  When enqueuing a request at this priority level the request's flow identifier (a string pair) is hashed and the hash value is used to shuffle the list of queues and deal a hand of the size specified here.  The request is put into one of the shortest queues in that hand. `handSize` must be no larger than `queues`, and should be significantly smaller (so that a few heavy flows do not saturate most of the queues).  See the user-facing documentation for more extensive guidance on setting this field.  This field has a default value of 8.",
        (_limited, queuing) => queuing?.["handSize"],
      ),
      limitColumn(
        "QueueLengthLimit",
        "`queueLengthLimit` is the maximum number of requests allowed to be waiting in a given queue of this priority level at a time; excess requests are rejected.  This value must be positive.  If not specified, it will be defaulted to 50.",
        (_limited, queuing) => queuing?.["queueLengthLimit"],
      ),
      ageColumn,
    ],
  }),
];
