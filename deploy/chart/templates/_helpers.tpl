{{- /* Name of the chart's objects. */ -}}
{{- define "virtual-kubelet.fullname" -}}
{{- $name := default .Chart.Name .Values.nameOverride -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 63 | trimSuffix "-" -}}
{{- else if contains $name .Release.Name -}}
{{- .Release.Name | trunc 63 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name $name | trunc 63 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- /* Name of objects outside of the release's namespace. A colon cannot occur in a namespace, so that no two releases share one. */ -}}
{{- define "virtual-kubelet.clusterName" -}}
{{- printf "virtual-kubelet:%s:%s" .Release.Namespace (include "virtual-kubelet.fullname" .) -}}
{{- end -}}

{{- define "virtual-kubelet.serviceAccountName" -}}
{{- if .Values.serviceAccount.create -}}
{{- default (include "virtual-kubelet.fullname" .) .Values.serviceAccount.name -}}
{{- else -}}
{{- default "default" .Values.serviceAccount.name -}}
{{- end -}}
{{- end -}}

{{- define "virtual-kubelet.selectorLabels" -}}
app.kubernetes.io/name: {{ default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" | quote }}
app.kubernetes.io/instance: {{ .Release.Name | quote }}
{{- end -}}

{{- define "virtual-kubelet.labels" -}}
{{ include "virtual-kubelet.selectorLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name (.Chart.Version | replace "+" "_") }}
{{- end -}}

{{- define "virtual-kubelet.image" -}}
{{- if .Values.image.digest -}}
{{- printf "%s@%s" .Values.image.repository .Values.image.digest -}}
{{- else -}}
{{- printf "%s:%s" .Values.image.repository (default .Chart.AppVersion .Values.image.tag) -}}
{{- end -}}
{{- end -}}

{{- /* The program's configuration file. */ -}}
{{- define "virtual-kubelet.config" -}}
{{- $own := dict "apiVersion" "virtual-kubelet.io/v1alpha1" "kind" "VirtualKubelet" -}}
{{- $own = merge $own (dict "health" (dict "address" (printf ":%d" (int .Values.healthPort)))) -}}
{{- $instance := default dict (default dict .Values.config).instance -}}
{{- $own = merge $own (dict "instance" (dict "standby" (not $instance.group))) -}}
{{- toYaml (merge $own (deepCopy .Values.config)) -}}
{{- end -}}

{{- /* What decides the rights, as access-rights.ts of the program has it: conditions, and names of nodes. */ -}}
{{- define "virtual-kubelet.needs" -}}
{{- $config := required "config: expected the program's configuration, got null" .Values.config -}}
{{- $cluster := default dict $config.cluster -}}
{{- $kubelet := default dict $config.kubelet -}}
{{- $nodes := list -}}
{{- $deleted := list -}}
{{- $drains := false -}}
{{- $ports := list -}}
{{- range .Values.config.nodes -}}
{{- $name := default "virtual-kubelet" .name -}}
{{- $names := list $name -}}
{{- if .count -}}
{{- $names = list -}}
{{- range $number := until (int .count) -}}{{- $names = append $names (printf "%s-%d" $name $number) -}}{{- end -}}
{{- end -}}
{{- $nodes = concat $nodes $names -}}
{{- if eq (default "keep" .onShutdown) "delete" -}}{{- $deleted = concat $deleted $names -}}{{- end -}}
{{- if eq (default "keep" .onShutdown) "drain" -}}{{- $drains = true -}}{{- end -}}
{{- $port := 10250 -}}
{{- if hasKey . "kubeletPort" -}}{{- $port = int .kubeletPort -}}{{- end -}}
{{- if ne $port 0 -}}{{- $ports = append $ports $port -}}{{- end -}}
{{- end -}}
{{- $serves := gt (len $ports) 0 -}}
{{- $tokens := true -}}
{{- if hasKey $kubelet "authenticationTokenWebhook" -}}{{- $tokens = $kubelet.authenticationTokenWebhook -}}{{- end -}}
{{- $bootstrap := true -}}
{{- if hasKey $kubelet "serverTLSBootstrap" -}}{{- $bootstrap = $kubelet.serverTLSBootstrap -}}{{- end -}}
nodes: {{ toJson $nodes }}
deletedNodes: {{ toJson $deleted }}
deletes: {{ gt (len $deleted) 0 }}
drains: {{ $drains }}
readsClusterId: {{ not $cluster.id }}
provisionsVolumes: {{ .Values.rbac.provisionsVolumes }}
discoversNodes: {{ .Values.rbac.discoversNodes }}
sharesNodes: {{ not (empty (default dict $config.instance).group) }}
tokenReviews: {{ and $serves $tokens }}
subjectAccessReviews: {{ and $serves (eq (default "Webhook" $kubelet.authorizationMode) "Webhook") }}
publishedClientCa: {{ and $serves (not $kubelet.clientCAFile) }}
servingCertificate: {{ and $serves $bootstrap (not $kubelet.tlsCertFile) }}
kubeletPorts: {{ toJson (uniq $ports) }}
{{- end -}}

{{- define "virtual-kubelet.subject" -}}
- kind: ServiceAccount
  name: {{ include "virtual-kubelet.serviceAccountName" . | quote }}
  namespace: {{ .Release.Namespace | quote }}
{{- end -}}
