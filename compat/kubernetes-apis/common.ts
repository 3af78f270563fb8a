export interface RestClient { performRequest(opts: any): Promise<any>; defaultNamespace?: string }
