-- What the examples compile to. Made by a test: UPDATE_GOLDEN=1 writes it anew.

-- Deposited over 500 in the last 30 days, at least 3 bets on slots this week, not VIP gold, never took the welcome bonus
-- Registered in the last 3 days and has not deposited yet
-- Made the first deposit this week, and no second one
select p.player_id as player_id, ((e.a0 > {p2:Int64}) and (e.a1 >= {p7:Int64}) and (not (ifNull(p.current_tier_code = {p8:String}, 0))) and (e.a2 = {p12:Int64})) as s0, ((p.created_at > fromUnixTimestamp64Milli({now_ms:Int64} - {p13:Int64}, 'UTC') and p.created_at <= fromUnixTimestamp64Milli({now_ms:Int64}, 'UTC')) and (e.a3 = {p12:Int64})) as s1, ((ifNull(e.a4 > fromUnixTimestamp64Milli({now_ms:Int64} - {p4:Int64}, 'UTC') and e.a4 <= fromUnixTimestamp64Milli({now_ms:Int64}, 'UTC'), 0)) and (e.a3 = {p14:Int64})) as s2
from (
  select player_id, current_tier_code, created_at from players final
  where tenant_id = {tenant_id:UUID} and project_id = {project_id:UUID} and player_id in {players:Array(UUID)} and deleted_at is null
) as p
any left join (
  select player_id as owner, sumIf(toInt128(ifNull(base_amount, 0)), event = {p0:String} and occurred_at > fromUnixTimestamp64Milli({now_ms:Int64} - {p1:Int64}, 'UTC') and occurred_at <= fromUnixTimestamp64Milli({now_ms:Int64}, 'UTC')) as a0, countIf(event = {p3:String} and occurred_at > fromUnixTimestamp64Milli({now_ms:Int64} - {p4:Int64}, 'UTC') and occurred_at <= fromUnixTimestamp64Milli({now_ms:Int64}, 'UTC') and JSONExtractString(properties, {p5:String}) = {p6:String}) as a1, countIf(event = {p9:String} and JSONExtractString(properties, {p10:String}) = {p11:String}) as a2, countIf(event = {p0:String}) as a3, minOrNullIf(occurred_at, event = {p0:String}) as a4
  from events_by_player final
  where tenant_id = {tenant_id:UUID} and project_id = {project_id:UUID} and player_id in {players:Array(UUID)} and ((event = {p0:String}) or (event = {p3:String} and occurred_at > fromUnixTimestamp64Milli({now_ms:Int64} - {p4:Int64}, 'UTC') and occurred_at <= fromUnixTimestamp64Milli({now_ms:Int64}, 'UTC')) or (event = {p9:String}))
  group by owner
) as e on e.owner = p.player_id
-- p0 = "deposit_confirmed"
-- p1 = 2592000000
-- p2 = 50000
-- p3 = "bet_placed"
-- p4 = 604800000
-- p5 = "game_category"
-- p6 = "slots"
-- p7 = 3
-- p8 = "gold"
-- p9 = "bonus_claimed"
-- p10 = "bonus_code"
-- p11 = "welcome"
-- p12 = 0
-- p13 = 259200000
-- p14 = 1
