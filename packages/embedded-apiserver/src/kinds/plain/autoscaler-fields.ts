/** Fields of `autoscaling/v2` HorizontalPodAutoscaler that the server reads. Source: k8s.io/api v0.36.3 autoscaling/v2/types.go. */
export interface AutoscalerSpec {
  readonly scaleTargetRef: ObjectTarget;
  /** Default: 1. */
  readonly minReplicas?: number;
  readonly maxReplicas?: number;
  readonly metrics?: readonly MetricSpec[];
  readonly behavior?: { readonly scaleUp?: ScalingRules; readonly scaleDown?: ScalingRules };
}

/** Reference to an object in the autoscaler's namespace. */
export interface ObjectTarget {
  readonly kind?: string;
  readonly name?: string;
  readonly apiVersion?: string;
}

/** A metric and its target; the source named by `type` is set. */
export interface MetricSpec {
  readonly type?: string;
  readonly object?: MetricSource;
  readonly pods?: MetricSource;
  readonly resource?: MetricSource;
  readonly containerResource?: MetricSource;
  readonly external?: MetricSource;
}

export interface MetricSource {
  /** Resource, such as `cpu`; for resource sources. */
  readonly name?: string;
  readonly container?: string;
  readonly describedObject?: ObjectTarget;
  readonly metric?: MetricIdentifier;
  readonly target?: MetricTarget;
}

export interface MetricIdentifier {
  readonly name?: string;
  readonly selector?: import("@virtual-kubelet/kubernetes").LabelSelector;
}

export interface MetricTarget {
  readonly type?: string;
  readonly value?: string;
  readonly averageValue?: string;
  /** Percent of the request. */
  readonly averageUtilization?: number;
}

export interface ScalingRules {
  readonly stabilizationWindowSeconds?: number;
  readonly selectPolicy?: string;
  readonly policies?: readonly ScalingPolicy[];
  readonly tolerance?: string;
}

interface ScalingPolicy {
  /** `Pods` or `Percent`. */
  readonly type: string;
  readonly value: number;
  readonly periodSeconds: number;
}
