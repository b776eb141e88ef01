/** The properties of a page of events have at most so many bytes, unless its first event alone has more. */
export const MAX_PAGE_BYTES = 2_000_000;

/** Whether the event is on the page; the properties of one that is not are empty. */
export interface PagedEvent {
  is_beyond: 0 | 1;
}

/** Whether there is room for the event on its page. */
export function fitsPage({ is_beyond }: PagedEvent): boolean {
  return is_beyond === 0;
}

/**
 * The rows of a query of events; rows beyond the parameter `page_bytes` come without their properties: a page
 * of events of a megabyte each would be held in memory several times. The query has occurred_ms, ingestion_id,
 * event_index and properties, the newest first. `page_bytes` is {@link MAX_PAGE_BYTES}, less what the page has already.
 */
export function withinPageBytes(query: string): string {
  const newest_first = 'order by toInt64(occurred_ms) desc, ingestion_id desc, event_index desc';
  return `select * replace (if(is_beyond, '', properties) as properties)
    from (
      select *, (row_number() over (${newest_first}) > 1 or {page_bytes:UInt32} < ${MAX_PAGE_BYTES})
        and sum(length(properties)) over (${newest_first} rows between unbounded preceding and current row)
          > {page_bytes:UInt32} as is_beyond
      from (${query})
    )
    ${newest_first}`;
}
