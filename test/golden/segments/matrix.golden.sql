-- What the examples compile to. Made by a test: UPDATE_GOLDEN=1 writes it anew.

-- Deposited over 500 in the last 30 days, at least 3 bets on slots this week, not VIP gold, never claimed the welcome bonus
-- Registered in the last 3 days and has not deposited yet
-- Made the first deposit this week, and no second one
select p.player_id as player_id,
  e.totals as totals,
  e.newest_ms as newest_ms,
  (not (ifNull(p.current_tier_code = {p2:String}, 0))) as c0,
  (p.created_at > fromUnixTimestamp64Milli({now_ms:Int64} - {p5:Int64}, 'UTC') and p.created_at <= fromUnixTimestamp64Milli({now_ms:Int64}, 'UTC')) as c1,
  (ifNull(e.a0 > fromUnixTimestamp64Milli({now_ms:Int64} - {p7:Int64}, 'UTC') and e.a0 <= fromUnixTimestamp64Milli({now_ms:Int64}, 'UTC'), 0)) as c2
from (
  select player_id, current_tier_code, created_at from players final
  where tenant_id = {tenant_id:UUID} and project_id = {project_id:UUID} and player_id in {players:Array(UUID)} and deleted_at is null
) as p
any left join (
select owner, mapFromArrays(groupArray(toString(name)), groupArray(totals)) as totals, max(newest) as newest_ms, anyIf(a0, name = 1) as a0
from (
  select player_id as owner,
    name,
    sumForEach(arrayMap((after_ms, until_ms, measure, where_index) -> toInt128(if(at_ms > after_ms and at_ms <= until_ms and wheres[where_index], measures[measure], 0)), {p8:Array(Array(Int64))}[name], {p9:Array(Array(Int64))}[name], {p10:Array(Array(UInt8))}[name], {p11:Array(Array(UInt16))}[name])) as totals,
    max(at_ms) as newest,
    minOrNullIf(occurred_at, event = {p6:String}) as a0
  from (
    select tenant_id, project_id, player_id, event, occurred_at, base_amount, base_payout, base_bonus_stake, base_bonus_payout, properties, indexOf({p12:Array(String)}, event) as name, toUnixTimestamp64Milli(occurred_at) as at_ms, [1, ifNull(base_amount, 0)] as measures, [toUInt8(1), toUInt8(JSONExtractString(properties, {p0:String}) = {p1:String}), toUInt8(JSONExtractString(properties, {p3:String}) = {p4:String})] as wheres
    from events_by_player
    where tenant_id = {tenant_id:UUID} and project_id = {project_id:UUID} and player_id in {players:Array(UUID)} and event in {p12:Array(String)}
    order by revision desc limit 1 by ingestion_id, event_index
  )
  group by owner, name
)
group by owner
) as e on e.owner = p.player_id
-- p0 = "game_category"
-- p1 = "slots"
-- p2 = "gold"
-- p3 = "bonus_code"
-- p4 = "welcome"
-- p5 = 259200000
-- p6 = "deposit_confirmed"
-- p7 = 604800000
-- p8 = [[1776254400000,-1000000000000000],[1778241600000],[-1000000000000000]]
-- p9 = [[1778846400000,1000000000000000],[1778846400000],[1000000000000000]]
-- p10 = [[2,1],[1],[1]]
-- p11 = [[1,1],[2],[3]]
-- p12 = ["deposit_confirmed","bet_placed","bonus_claimed"]
