{{- define "gatehouse.name" -}}
{{ .Release.Name | trunc 50 | trimSuffix "-" }}
{{- end }}

{{- define "gatehouse.selector" -}}
app.kubernetes.io/name: gatehouse
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/component: operator
{{- end }}

{{- define "gatehouse.labels" -}}
app.kubernetes.io/name: gatehouse
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end }}

{{- define "gatehouse.image" -}}
{{- with .Values.image -}}
{{ .repository }}{{ if .digest }}@{{ .digest }}{{ else }}:{{ .tag | default $.Chart.AppVersion }}{{ end }}
{{- end -}}
{{- end }}

{{- define "gatehouse.podSecurity" -}}
runAsNonRoot: true
runAsUser: 65532
runAsGroup: 65532
seccompProfile: { type: RuntimeDefault }
{{- end }}

{{- define "gatehouse.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: { drop: [ALL] }
{{- end }}

{{- /*
A Role, or a ClusterRole where the grant has no namespace, for an account of the release. Takes root, grant {namespace, name, rules},
account and annotations.
*/}}
{{- define "gatehouse.grant" -}}
{{- $kind := ternary "Role" "ClusterRole" (hasKey .grant "namespace") }}
{{- range list $kind (printf "%sBinding" $kind) }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: {{ . }}
metadata:
  name: {{ $.grant.name }}
  {{- with $.grant.namespace }}
  namespace: {{ . }}
  {{- end }}
  labels: {{- include "gatehouse.labels" $.root | nindent 4 }}
  {{- with $.annotations }}
  annotations: {{- toYaml . | nindent 4 }}
  {{- end }}
{{- if eq . $kind }}
rules: {{- toYaml $.grant.rules | nindent 2 }}
{{- else }}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: {{ $kind }}
  name: {{ $.grant.name }}
subjects:
  - kind: ServiceAccount
    name: {{ $.account }}
    namespace: {{ $.root.Release.Namespace }}
{{- end }}
{{- end }}
{{- end }}
