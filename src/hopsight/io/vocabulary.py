"""What columns are called and what cells say, in the languages of tables that people have: the words of every rule."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence, Set

# Columns that are recognized by their whole name, the likeliest first.
ID_NAMES = ("id", "node", "node_id", "nodeid", "name", "user", "user_id", "userid", "key", "vertex", "index")
WEIGHT_NAMES = ("hopsight_weight", "weight", "weights", "edge_weight")
TIME_NAMES = (
    "hopsight_time", "timestamp", "time", "datetime", "date", "ts", "t", "unixtime", "unix_time", "epoch", "created_at",
    "sent_at", "event_time", "datum", "fecha", "dato", "minute", "hour", "day", "step",
)  # fmt: skip
TYPE_NAMES = ("hopsight_type", "node_type")
NAME_NAMES = (
    "hopsight_name", "name", "full_name", "display_name", "title", "name_1", "name1", "username", "user_name",
    "company", "company_name", "firma", "firmenname", "kundenname", "kontoinhaber", "nachname", "nom", "nombre",
    "razón_social", "razão_social", "ragione_sociale", "raison_sociale", "nome", "nome_completo", "naam", "nazwa",
    "navn", "namn", "jméno", "název", "имя", "фио", "наименование", "名称", "姓名", "名前", "氏名", "이름",
)  # fmt: skip
PARTIES = {  # what a node of payments may be called
    "party", "account", "acct", "customer", "client", "cust", "vendor", "supplier", "merchant", "holder",
    "account_holder", "owner", "employee", "person", "user", "member", "entity", "legal", "business", "trading",
}  # fmt: skip
COLUMN_NAMES = (  # of labels in a file
    "verdict", "outcome", "result", "decision", "ergebnis", "befund", "wynik", "résultat", "resultado", "esito",
    "uitslag", "výsledek", "sonuç",
)  # fmt: skip
MAYBE_NAMES = ("label", "status")  # of a column of labels, unless another one can be read as labels
TRUTH_NAMES = {"label", "labels", "y", "gnd", "truth", "ground_truth", "class", "isfraud", "is_sar", "is_bot"}
TRUTH = re.compile(
    r"(is_)?(flagged_)?(fraud|fraudulent|anomaly|anomalous|outlier|attack|laundering|money_laundering|suspicious|"
    r"phishing|scam|malicious|malware|spam|illicit|flagged|mule|sar|legit|legitimate|genuine)(_(type|category|cat|flag|label))?"
)
CASE = re.compile(
    r"(is_)?confirmed|((is|known|confirmed|past|prior)_)+case|case_(outcome|result|verdict)|verdict|bestätigter_fall"
)
SUSPICION = re.compile(  # stems in common languages; the words for yes and no are in as many
    "fraud|frode|betrug|bedrog|bedräg|oszust|dolandır|estaf|suspe|sospe|sospet|verd[aä]cht|scam|laundering|мошен|欺诈|詐欺|사기"
)

# Columns that are recognized by a word of their name.
STATUS_WORDS = {
    "status", "state", "statut", "état", "etat", "estado", "stato", "situação", "situacao", "zustand", "stav", "durum",
    "állapot", "статус", "состояние", "状态", "状態", "상태", "ステータス",
}  # fmt: skip
CODE_WORDS = {
    "id", "ids", "account", "acct", "iban", "imei", "imsi", "msisdn", "phone", "telephone", "mobile", "telefon", "tel",
    "port", "zip", "zipcode", "postcode", "plz", "code", "number", "ref", "reference", "block", "blockno", "nonce",
    "ean", "isbn", "gtin", "barcode", "sku", "pesel", "nip", "regon", "cpf", "cnpj", "dni", "nif", "cif", "rfc", "curp",
    "siren", "siret", "ssn", "tin", "pan", "aadhaar", "gstin", "bsn", "inn", "oib", "bic", "mcc",
}  # fmt: skip
MONEY = {
    "amount", "amt", "value", "price", "total", "sum", "betrag", "summe", "wert", "importe", "importo", "montant",
    "monto", "valor", "valeur", "preis", "prix", "precio", "prezzo", "preço", "prijs", "pris", "cena", "somme",
    "totale", "montante", "wartość", "bedrag", "belopp", "beløb", "kwota", "tutar", "umsatz", "gross", "brutto", "suma",
    "summa", "znesek", "upphæð", "مبلغ", "částka", "összeg", "beløp", "määrä", "sumă", "iznos", "jumlah", "tiền",
    "dmbtr", "сумма", "сума", "ποσό", "סכום", "المبلغ", "จำนวนเงิน", "राशि", "金额", "金額", "금액",
}  # fmt: skip
SECONDARY = re.compile(  # an amount beside the one that was paid, and a price that is paid several times
    r"(^|_)(fees?|tax(es)?|vat|mw_?st|ust|tva|charges?|freight|shipping|discount|original|balance|tip|unit|gas|iva|btw)(_|$)"
    r"|price|preis|prix|precio|prezzo|preço|commissi|provision|gebühr|steuer|ursprung|rabatt|frais|taxe|comisi|impuest|tarifa|taxa|impost"
    r"|kosten|prowiz|podat|комисси|налог|цена|手数料|税|単価|手续费"
)
_WITHOUT = "excl.*|exkl.*|before|ohne|sans|hors|sin|senza|sem"  # a fee or a tax, which the next word says
_BEHIND = re.compile(rf"in|incl.*|inkl.*|after|nach|après|with|mit|con|com|avec|{_WITHOUT}")
_NET = re.compile(rf"net|netto.*|ht|{_WITHOUT}")
CURRENCY_WORDS = {
    "currency", "symbol", "coin", "měna", "pénznem", "ccy", "währung", "waehrung", "devise", "moneda", "valuta", "币种",
    "通貨",
}  # fmt: skip
MEASURES = {  # of events, that nobody passes on
    "bytes", "octets", "packets", "pkts", "kb", "mb", "gb", "size", "length", "duration", "seconds", "minutes", "count",
    "calls", "messages", "distance", "quantity", "qty", "volume", "dauer", "größe", "durée", "taille", "duración",
}  # fmt: skip
AMOUNTS = {  # and other measures and properties of an event
    *MONEY, *CURRENCY_WORDS, *MEASURES, "fee", "balance", "weight", "score", "rating", "type", "status", "year",
    "month", "hour", "saldo",
}  # fmt: skip
COUNTED = {  # what else a value or a total may be of, and what a class of amounts is called
    "date", "dt", "datum", "fecha", "data", "time", "items", "item", "units", "pieces", "pcs", "products", "hours",
    "days", "kg", "orders", "transactions", "class", "group", "rank", "level", "band", "bucket",
    "category", "id", "code", "no", "number", "flag", "share", "percent", "pct", "rate", "ratio",
}  # fmt: skip
LATER = re.compile(
    "open|birth|dob|due|expir|valid|since|regist|joined|created|updat|modif|ingest|import|matur|settle|valut|login|kyc"
    r"|statement|invoice|ship|deliver|mandate|value[ _-]?da?te?|valeur|valor|wertst|loss|vade|^termin|refund"
    "|chargeback|extract|report|snapshot|etl|archiv|load|cutoff|as_?of|eröffn|fällig|geburt|naiss|nasc|nacim|venc"
    "|échéan|scaden|förfall|forfall|vervald|splatn|wymag"
)
TIMELY = re.compile(  # UNIX times, or numbers without a name
    r"^column\d+$|time|date|datum|fecha|tag$|tarih|^data$|stamp|_at(_|$)|zeit|hora|heure|horodat|tijd|godzina|время|时间|時刻|시간"
    r"|(^|_)(created|updated|booked|posted|executed|opened|utc)(_|$)"
    r"|(^|_)(ts|epoch|start|started|begin|began|beginn|first|last|end|ended|ende|seen|when)(_|$)"
)
NEAR = re.compile("creat|invoice|settle|statement|value[ _-]?da?te?|valut|valeur|valor|wertst")  # but nearest of it
DATED = re.compile("date|datum|fecha|tag$|tarih|^data$")  # of a day
CLOCK = re.compile(
    "time|clock|hour|zeit|heure|hora|ora$|tijd|tid$|saat|godzina|время|时间|時刻|시간"
)  # of a time of day
LASTING = re.compile(  # of how long it took
    "duration|elapsed|length|talk|process|respon|wait|hold|handl|latency|delay|(^|_)(dur|ring|setup)(_|$)"
    "|dauer|durée|duración|durata|длительность|时长"
)
_NUMBERED = re.compile(  # numbers of rows
    r"(.*_)?(id|uid|uuid|guid|hash|idx|index|rowid|row|mid|tid|txid|msgid|key|no|ref|reference"
    r"|referencia|referência|référence|riferimento|referenz)|.+_number|\w*(nr|nummer)"
)
_EVENTS = (
    r"(booking|transaction|trans|tran|tx|txn|event|record|row|message|msg|order|invoice|payment|transfer|entry|document"
    r"|reference|ref|receipt|voucher|beleg|buchungs?|rechnungs?|transaktions?|vorgangs?|auftrags?|zahlungs?"
    r"|pedido|factura|facture|fattura|fatura|commande|orden|ordine"
    r"|operazione|operaci[oó]n|opera[cç][aã]o|op[eé]ration|operacji|transacci[oó]n|transa[cç][aã]o|pi[eè]ce)"
)
_EVENT = re.compile(
    rf"{_EVENTS}_?(id|uid|no|nr|number|nummer|ref|reference|hash|index|key|date|time)|(id|no|nr|n°|num|n[uú]mero|numer|c[oó]digo|codice|code)"
    rf"_((de|del|da|di|du|of)_)?{_EVENTS}"
    r"|id|uuid|guid|index|row|cro|trn|uetr|date|datetime|timestamp"
)
_INDEX = re.compile(r"(unnamed:_.*|level_\d|#)?")  # of rows, as pandas and spreadsheets write it
ROW_NUMBERS = {"no", "nr", "lp", "seq", "sno", "pos"}  # names of columns of them, if all values differ

# The two ends of an edge.
END_WORDS = (  # words by which two names differ
    ("source", "target"), ("source", "destination"), ("source", "dest"), ("src", "dst"), ("src", "dest"),
    ("from", "to"), ("sender", "receiver"), ("sender", "recipient"), ("sender", "beneficiary"),
    ("sending", "receiving"), ("payer", "payee"), ("payer", "beneficiary"), ("originator", "beneficiary"),
    ("remitter", "beneficiary"), ("ordering", "beneficiary"), ("debtor", "creditor"), ("debit", "credit"),
    ("buyer", "seller"), ("caller", "callee"), ("calling", "called"), ("origin", "destination"), ("orig", "dest"),
    ("orig", "resp"), ("client", "server"), ("employee", "manager"), ("child", "parent"), ("citing", "cited"),
    ("follower", "followee"), ("follower", "followed"), ("lender", "borrower"), ("referrer", "referred"), ("a", "b"),
    ("auftraggeber", "empfänger"), ("auftraggeber", "begünstigter"), ("absender", "empfänger"), ("zahler", "empfänger"),
    ("ordenante", "beneficiario"), ("remitente", "destinatario"), ("emisor", "receptor"), ("mittente", "destinatario"),
    ("ordinante", "beneficiario"), ("débiteur", "créditeur"), ("débiteur", "créancier"), ("émetteur", "destinataire"),
    ("expéditeur", "destinataire"), ("origem", "destino"), ("origen", "destino"), ("opdrachtgever", "begunstigde"),
    ("debitada", "creditada"), ("pagador", "recebedor"), ("comprador", "vendedor"), ("acheteur", "vendeur"),
    ("remetente", "destinatário"), ("rekening", "tegenrekening"), ("gönderen", "alıcı"), ("dbtr", "cdtr"),
    ("плательщика", "получателя"), ("отправителя", "получателя"), ("отправитель", "получатель"),
    ("плательщик", "получатель"), ("付款", "收款"), ("转出", "转入"), ("nadawca", "odbiorca"),
    ("zleceniodawca", "odbiorca"), ("avsändare", "mottagare"), ("betalare", "mottagare"), ("maksaja", "saaja"),
    ("lähettäjä", "vastaanottaja"), ("pengirim", "penerima"), ("odesílatel", "příjemce"), ("plátce", "příjemce"),
    ("afsender", "modtager"), ("avsender", "mottaker"), ("feladó", "címzett"), ("quellkonto", "zielkonto"),
    ("débité", "crédité"), ("obciążony", "uznany"), ("borçlu", "alacaklı"), ("出账", "入账"),
    ("zahlungspflichtiger", "zahlungsempfänger"), ("sollkonto", "habenkonto"), ("debitor", "kreditor"),
    ("donneur", "bénéficiaire"), ("van", "naar"), ("frå", "til"), ("platitelj", "primatelj"),
    ("наредител", "получател"), ("支払人", "受取人"), ("송금인", "수취인"), ("αποστολέα", "παραλήπτη"),
    ("שולח", "מקבל"), ("प्रेषक", "प्राप्तकर्ता"), ("ผู้ส่ง", "ผู้รับ"), ("người_gửi", "người_nhận"), ("từ", "đến"),
    ("émetteur", "bénéficiaire"), ("ordre", "bénéficiaire"), ("cargo", "abono"), ("fra", "til"), ("från", "till"),
    ("nadawcy", "odbiorcy"), ("zleceniodawcy", "odbiorcy"), ("платник", "отримувач"), ("送金者", "受取人"),
    ("المرسل", "المستلم"), ("发送", "接收"), ("출금", "입금"), ("orig", "bene"), ("送金元", "送金先"),
    ("振込元", "振込先"), ("발신", "수신"), ("보낸", "받는"),
)  # fmt: skip
_SIDE = {word: side for pair in END_WORDS for word, side in zip(pair, ("from", "to"), strict=True)}
_SIDE = {word: side for word, side in _SIDE.items() if word not in {"a", "b", "client", "server", "child", "parent"}}
_SIDE |= dict.fromkeys(("contra", "counterparty", "gegenkonto", "contraparte", "controparte", "contrepartie"), "to")
_SIDE |= dict.fromkeys(("kontrahent", "protiúčet", "对方", "相手"), "to")
ALONE = {"a", "b", "debit", "credit"}  # of them, words that mean an end only beside another word
NO_ENDS = {  # words of a property of an end
    "amount", "balance", "currency", "value", "fee", "port", "bank", "location", "country", "city", "state", "type",
    "date", "time", "bytes", "packets", "pkts", "lat", "lon", "latitude", "longitude", "mac", "name", "nm", "nome",
    "nom", "nombre", "naam", "nazwa", "имя", "наименование", "status", "system", "valid", "period", "exchange",
    "version", "stage", "step", "price", "channel", "platform", "reason", "category", "branch",
}  # fmt: skip
KEY_WORDS = {"id", "no", "nr", "number", "code", "key"}  # of a column of ids, which do not say whose they are
ID_WORDS = {
    "id", "account", "iban", "address", "ip", "h", "host", "number", "acct", "user", "node", "konto", "compte",
    "cuenta", "conta", "conto", "rekening", "rachunek", "cpf", "cnpj", "счет", "счёт", "инн", "hesap", "账号", "口座",
}  # fmt: skip
_ACTORS = (
    "user", "customer", "client", "buyer", "reviewer", "author", "account", "card", "patient", "person", "actor",
    "investor", "member", "viewer", "visitor",
)  # fmt: skip
_THINGS = (
    "item", "product", "merchant", "shop", "store", "movie", "book", "song", "artist", "page", "paper", "venue",
    "subreddit", "group", "event", "device", "ip", "provider", "company", "business", "asin",
    "repo", "repository", "video", "channel", "track", "restaurant", "hotel", "domain", "project",
)  # fmt: skip
_NODES = {*_ACTORS, *_THINGS, *(word for pair in END_WORDS for word in pair), "kyc", "kunde", "kunden", "cliente"}
ID_ENDINGS = ("", "_id", "_name", "_number", "_no")
TWO_KINDS = tuple(
    (f"{actor}{ending}", f"{thing}{other}")
    for actor in _ACTORS for thing in _THINGS for ending in ID_ENDINGS for other in ID_ENDINGS
)  # fmt: skip
_END_NAMES = (  # whole names without such words
    ("u", "v"), ("sourceid", "targetid"), ("node1", "node2"), ("node_1", "node_2"), ("id1", "id2"), ("id_1", "id_2"),
    ("start", "end"), ("head", "tail"), ("name_orig", "name_dest"), ("rater", "ratee"), ("giver", "taker"),
    *((account, partner) for account in ("account", "konto", "iban", "auftragskonto", "compte", "cuenta", "conto")
      for partner in ("counterparty", "gegenkonto", "kontonummer_iban", "kontrahent", "contraparte", "controparte")),
    ("i", "j"),
)  # fmt: skip
_AGAIN = ("_1", "_2", "_duplicated_0")  # after a name that a table had twice, when libraries or hopsight have read it

# What cells say.
NO_IDS = ("", "-", "--", "nan", "null", "none", "n/a", "#n/a", "(null)", "\\n")  # where there is no id
EMPTY_NUMBERS = (  # what people and programs write into an empty number cell
    "", "na", "n/a", "n.a.", "#n/a", "nan", "null", "(null)", "none", "-", "--", "—", "–", ".", "\\n", "?", "unknown",
    "missing", "(blank)", "unbekannt", "k.a.", "k. a.", "#nv", "n.c.", "n/c", "n.d.", "n/d", "s/d", "s.d.", "b.d.",
    "н/д", "0000-00-00", "0000-00-00 00:00:00", "0000/00/00", "00/00/0000", "00.00.0000", "00000000", ".  .", "/  /",
    "0001-01-01", "0001-01-01 00:00:00", "0001-01-01t00:00:00",  # dates of MySQL, SAP, dBase and .NET
    "$-", "$ -", "€ -", "£ -", "- €",  # 0 in the accounts of a spreadsheet
)  # fmt: skip
UNLABELED = (*EMPTY_NUMBERS, "unlabeled", "unlabelled")  # words for a node without ground truth
TOTALS = {
    "total", "totals", "grand total", "sum", "summe", "gesamt", "somme", "suma", "totale", "totaal", "итого", "合计",
}  # fmt: skip
VOID = {  # events that did not take place
    "cancelled", "canceled", "failed", "declined", "rejected", "refused", "void", "voided", "aborted", "reverted",
    "reversed", "not executed", "storno", "storniert", "abgelehnt", "fehlgeschlagen", "annulé", "annulée", "refusé",
    "refusée", "échoué", "cancelado", "cancelada", "anulado", "anulada", "rechazado", "rechazada", "annullato",
    "annullata", "rifiutato", "rifiutata", "odrzucona", "odrzucony", "odrzucono", "anulowana", "anulowany", "anulowano",
    "zamítnuto", "zrušeno", "stornováno", "geweigerd", "geannuleerd", "mislukt", "reddedildi", "iptal", "başarısız",
    "rejeitado", "rejeitada", "recusado", "recusada", "estornado", "estornada", "denied", "timed out", "timeout",
    "failure", "unsuccessful", "rejeté", "rejetée", "fallido", "fallida", "hylätty", "peruttu", "avvisad", "misslyckad",
    "avbruten", "отклонено", "отклонён", "отклонен", "отменено", "отменён", "отменен", "失败", "已取消", "交易失败",
    "失敗", "キャンセル", "取消", "실패", "취소", "respinta", "respinto", "scartata", "scartato", "insoluta",
    "insoluto", "fallita", "fallito", "stornata", "stornato", "ko", "afvist", "elutasítva", "sikertelen",
}  # fmt: skip
LEFT = {  # an account: words for the way that money went, in two sets
    "out", "outgoing", "outbound", "outflow", "cash_out", "send", "sent", "paid", "payment", "withdraw", "withdrawal",
    "debit", "debet", "dbit", "dr", "d", "s", "o", "-", "soll", "ausgang", "zahlungsausgang", "belastung",
    "lastschrift", "débit", "sortie", "débito", "debito", "debe", "cargo", "gasto", "egreso", "salida", "saída", "dare",
    "uscita", "af", "obciążenie", "wn", "borç", "utgift", "ud", "wychodzący", "wychodząca", "дебет", "расход", "支出",
    "支付", "转出", "借", "支", "ausgehend", "aus", "auszahlung", "исходящий", "списание", "sortant", "saliente",
    "wychodzące", "utgående", "giden", "出金", "출금", "主叫", "mo", "outward", "payout", "buy",
}  # fmt: skip
REACHED = {
    "in", "incoming", "inbound", "inflow", "payment_in", "receive", "received", "receipt", "deposit", "credit",
    "kredit", "crdt", "cr", "c", "k", "h", "i", "+", "haben", "eingang", "zahlungseingang", "gutschrift", "crédit",
    "entrée", "crédito", "credito", "haber", "abono", "ingreso", "entrada", "avere", "entrata", "bij", "przychodzący",
    "przychodząca", "uznanie", "ma", "alacak", "inkomst", "ind", "кредит", "приход", "收入", "收款", "转入", "贷", "收",
    "eingehend", "ein", "einzahlung", "входящий", "зачисление", "entrant", "entrante", "przychodzące", "inkommande",
    "gelen", "入金", "입금", "被叫", "mt", "inward", "payin", "sell",
}  # fmt: skip
YES = frozenset(("1", "true", "yes", "y", "j", "ja", "oui", "tak", "sim", "sí", "sì", "si", "да", "ano", "evet"))
NO = frozenset(("0", "false", "no", "n", "nein", "nee", "nej", "non", "nie", "não", "нет", "ne", "hayır"))
ANOMALOUS = YES | frozenset(
    ("anomalous", "anomaly", "fraud", "fraudulent", "bad", "suspicious", "positive", "illicit", "spam", "scam",
     "banned", "abuse", "confirmed", "confirmed case", "true positive", "tp", "false negative", "fn", "sar",
     "chargeback", "betrug", "bestätigt", "fraude")
)  # fmt: skip
NORMAL = NO | frozenset(
    ("normal", "ok", "good", "legit", "legitimate", "licit", "negative", "clean", "genuine", "no issue",
     "no issues", "no finding", "no findings", "benign", "honest",
     "ordinary", "cleared", "closed", "dismissed", "unfounded", "false positive", "false alarm", "fp", "tn",
     "true negative", "entlastet", "unbegründet", "fehlalarm", "falso positivo", "falso allarme", "falsa alarma",
     "alarme falso", "faux positif", "fausse alerte", "fałszywy alarm")
)  # fmt: skip
VOUCHED = frozenset(  # words of a column in which yes means normal
    ("valid", "trusted", "trustworthy", "authorised", "authorized", "approved", "verified", "safe", "unbedenklich")
)
BLANK = frozenset(("", "none", "null", "nan", "na", "n/a", "-1"))  # nobody has judged
UNDECIDED = BLANK | frozenset(
    ("unsure", "unknown", "?", "pending", "open", "undecided", "tbd", "in review", "under review", "not reviewed",
     "unreviewed", "unlabeled", "offen", "in bearbeitung", "in verifica", "in esame", "en revisión", "en verificación",
     "em verificação", "à vérifier", "w trakcie", "en cours", "pendiente", "en curso", "in corso",
     "em análise", "in behandeling", "nierozstrzygnięte", "nierozstrzygnięty", "nierozstrzygnięta", "w toku")
)  # fmt: skip
NEGATIONS = frozenset(
    ("no", "not", "non", "never", "without", "free", "zero", "isn", "kein", "keine", "nicht", "ohne", "pas", "aucun",
     "aucune", "sans", "sin", "ningún", "ninguna", "nessun", "nessuna", "senza", "nenhum", "nenhuma", "sem", "geen",
     "nie", "brak", "bez")
)  # fmt: skip
DOUBTS = frozenset(
    ("possible", "possibly", "potential", "suspected", "alleged", "likely", "verdacht", "maybe", "ruled", "excluded",
     "unproven", "unverified", "refuted", "disproved", "withdrawn", "rejected", "won", "ausgeschlossen", "widerlegt",
     "écarté", "écartée", "descartado", "descartada", "esclusa", "escluso", "afastada", "wykluczone", "wykluczono")
)  # fmt: skip
_CODES = """
AED AFN AMD ANG AOA ARS AUD AWG AZN BAM BBD BDT BGN BHD BIF BMD BND BOB BRL BSD BTN BWP BYN BZD CAD CDF CHF CLP CNY COP
CRC CVE CZK DJF DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL GHS GIP GMD GNF GTQ GYD HKD HNL HTG HUF IDR ILS INR IQD IRR
ISK JMD JOD JPY KES KGS KHR KMF KPW KRW KWD KYD KZT LAK LBP LKR LRD LSL LYD MAD MDL MGA MKD MMK MNT MOP MRU MUR MVR MWK
MXN MYR MZN NAD NGN NIO NOK NPR NZD OMR PAB PGK PHP PKR PLN PYG QAR RON RSD RUB RWF SAR SBD SCR SDG SEK SGD SHP SLE SOS
SRD SSP STN SVC SYP SZL THB TJS TMT TND TRY TTD TWD TZS UAH UGX USD UYU UZS VES VND VUV WST XAF XCD XOF XPF YER ZAR ZMW
ZWG BTC ETH USDT USDC BNB SOL XRP LTC DAI
"""  # of ISO 4217, without four that are words (ALL, CUP, PEN, TOP), and of exchanges
YEARS = frozenset(("année", "annee", "anno", "ano", "año", "rok", "år", "год", "年"))
ISO_CURRENCIES = frozenset(_CODES.split())
CURRENCIES = {
    "$": "USD", "US$": "USD", "€": "EUR", "£": "GBP", "₹": "INR", "RS.": "INR", "RS": "INR", "₽": "RUB", "₩": "KRW",
    "₺": "TRY", "R$": "BRL", "ZŁ": "PLN", "KR.": "KR", "円": "JPY", "元": "CNY",
}  # fmt: skip
_DOLLARS = "USD ARS AUD BBD BSD BZD CAD CLP COP DOP FJD HKD JMD MXN NAD NZD SGD TTD TWD UYU XCD"
DOLLARS = frozenset(_DOLLARS.split())  # all have the sign $
_POINTS = "¥ AUD CNY GBP HKD INR JPY KES KRW MXN MYR NGN NZD PHP PKR SGD THB TWD USD"
WITH_POINTS = frozenset(_POINTS.split())  # of countries that write a decimal point; a comma separates thousands
NUMBERED = {  # of ISO 4217, as in the messages of cards
    "036": "AUD", "124": "CAD", "156": "CNY", "170": "COP", "152": "CLP", "203": "CZK", "208": "DKK", "344": "HKD",
    "348": "HUF", "356": "INR", "360": "IDR", "376": "ILS", "392": "JPY", "410": "KRW", "458": "MYR", "484": "MXN",
    "554": "NZD", "566": "NGN", "578": "NOK", "586": "PKR", "608": "PHP", "643": "RUB", "682": "SAR", "702": "SGD",
    "704": "VND", "710": "ZAR", "752": "SEK", "756": "CHF", "764": "THB", "784": "AED", "818": "EGP", "826": "GBP",
    "840": "USD", "901": "TWD", "941": "RSD", "946": "RON", "949": "TRY", "975": "BGN", "978": "EUR", "980": "UAH",
    "985": "PLN", "986": "BRL",
}  # fmt: skip

_LATIN = re.compile(r"[a-zà-žß]+")


def normalized_name(name: str) -> str:
    """Return a column name in lower case, with underscores between its words.

    >>> normalized_name(" Node-ID "), normalized_name("isFraud"), normalized_name("FromNodeId")
    ('node_id', 'is_fraud', 'from_node_id')
    """
    parted = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name.strip().replace("º", "o"))
    return re.sub(r"[\s\-_.]+", "_", parted.lower().rstrip(" .-"))


def words_of(name: str) -> list[str]:
    """Return the words of a column name, in lower case.

    >>> words_of("Value_IN(ETH)"), words_of("#")
    (['value', 'in', 'eth'], ['#'])
    """
    known = normalized_name(name)
    return [word for word in re.split(r"[_()\[\]/]+", known) if word] or [known]


def first_known(names: Sequence[str], known: Sequence[str]) -> str | None:
    """Return the first of some known names that a table has, as the table writes it.

    >>> first_known(["Amount", "Created-At", "T"], TIME_NAMES)
    'T'
    """
    by_name = {normalized_name(name): name for name in reversed(names)}
    return next((by_name[name] for name in known if name in by_name), None)


def says_normal(name: str) -> bool:
    """Return whether yes in a column called so seems to mean that a case is normal.

    >>> [says_normal(name) for name in ("is_legit", "not_fraud", "False positive", "trusted", "kein_betrug")]
    [True, True, True, True, True]
    >>> [says_normal(name) for name in ("is_fraud", "verified_fraud", "confirmed", "no", "free")]
    [False, False, False, False, False]
    """
    words = words_of(name)
    if " ".join(words) in NORMAL - NO:
        return True
    is_bad = any(word in ANOMALOUS - YES or SUSPICION.match(word) for word in words)
    return not (NEGATIONS if is_bad else (NORMAL - NO) | VOUCHED).isdisjoint(words)


def yes_means_normal(name: str, words: Set[str]) -> bool:
    """Return whether a column of yes and no, in lower case, seems to say which cases are normal.

    >>> yes_means_normal("is_legit", {"yes", "no", ""}), yes_means_normal("is_legit", {"ok", "fraud"})
    (True, False)
    """
    return says_normal(name) and words - BLANK <= YES | NO


def is_row_id_name(name: str) -> bool:
    """Return whether a column is called like a number that only identifies rows.

    >>> [is_row_id_name(name) for name in ("tx_id", "mid", "transactionID", "Nº de operación", "paid", "booking_date")]
    [True, True, True, True, False, False]
    """
    known = normalized_name(name)
    return any(form.fullmatch(known) for form in (_NUMBERED, _EVENT)) and not known.endswith(("date", "time", "stamp"))


def is_code_name(name: str) -> bool:
    """Return whether whole numbers of this name are ids or codes, of which no mean can be taken.

    >>> [is_code_name(name) for name in ("IMEI", "cell_id", "A_NUMBER", "id.orig_p", "number", "paid", "amount")]
    [True, True, True, True, False, False, False]
    """
    words = words_of(name)
    if words == ["number"]:  # of what?
        return False
    return words[-1] in CODE_WORDS or (words[0] == "id" and len(words) > 1)


def is_event_name(name: str) -> bool:
    """Return whether a column is called like the number or the time of an event, which is no end of an edge.

    >>> [is_event_name(name) for name in ("Booking ID", "Trans-Nr.", "id_pedido", "Date", "", "account_id", "shop")]
    [True, True, True, True, True, False, False]
    """
    return any(form.fullmatch(normalized_name(name)) for form in (_EVENT, _INDEX))


def is_status_name(name: str) -> bool:
    """Return whether a column is called like the status of events, some of which may not have taken place.

    >>> [is_status_name(name) for name in ("paymentStatus", "STATUS PRZELEWU", "statement", "customer_status")]
    [True, True, False, False]
    """
    words = words_of(name)
    of_node = not _NODES.isdisjoint(words)
    return not of_node and any(
        word in STATUS_WORDS or word.endswith(("status", "状态")) for word in (words[0], words[-1])
    )


def find_end_names(names: Sequence[str]) -> list[tuple[str, str]]:
    """Return the pairs of columns that are called like the ends of an edge, the most likely ids first.

    >>> find_end_names(["Time", "Sender_location", "Receiver_location", "Sender_account", "Receiver_account"])
    [('Sender_account', 'Receiver_account')]
    >>> [find_end_names(names) for names in (["To", "from_id", "From"], ["A_NUMBER", "B_NUMBER"], ["debit", "credit"])]
    [[('From', 'To')], [('A_NUMBER', 'B_NUMBER')], []]
    >>> find_end_names(["from", "to", "user", "device"])[0], find_end_names(["buyer_id", "seller_id", "product_id"])[0]
    (('from', 'to'), ('buyer_id', 'seller_id'))
    >>> find_end_names(["Bank", "IBAN", "Name", "Bank_2", "IBAN_2", "Name_2"])
    [('IBAN', 'IBAN_2')]
    >>> find_end_names(["Remarks", "Remitter A/c No", "Beneficiary A/c No"])
    [('Remitter A/c No', 'Beneficiary A/c No')]
    """
    parts = [(part, name) for name in reversed(names) for part in (name.partition("(")[0], name)]
    known = {"_".join(words_of(part)): name for part, name in parts}
    whole, kinds = (
        [(known[one], known[other]) for one, other in pairs if one in known and other in known]
        for pairs in (_END_NAMES, TWO_KINDS)
    )
    found: list[tuple[bool, int, str, str]] = []
    for name in names:
        words = words_of(name)
        for first, second in END_WORDS:
            other = _other(words, first, second, known)
            rest = [word for word in words if word != first]
            is_property = any(word in NO_ENDS or word.endswith(("balance", "amount")) for word in rest)
            if other is not None and other != name and not is_property:
                found.append((not ID_WORDS.intersection(rest), len(found), name, other))
    twice = [(name, known[part + again]) for part, name in known.items() for again in _AGAIN if part + again in known]
    twice = [pair for pair in twice if not ID_WORDS.isdisjoint(words_of(pair[0]))]
    return [*whole, *twice, *(each[2:] for each in sorted(found)), *kinds]


def goes_back(first: str, second: str) -> bool:
    """Return whether the names of two columns say that edges go from the second to the first, in words of one or both.

    >>> goes_back("Naar rekening", "Rekening"), goes_back("Zahlungsempfängerkonto", "Konto"), goes_back("shop", "user")
    (True, True, False)
    """
    one, other = _side(first, second), _side(second, first)
    return one != other and (one == "to" or other == "from")


def _side(name: str, other: str) -> str | None:
    """Return the end that a name says in a word that another does not have, also as a part of a long one."""
    words = {*words_of(name)} - {*words_of(other)}
    found = {_SIDE[word] for word in words if word in _SIDE}
    found = found or {side for part, side in _SIDE.items() if len(part) > 6 and any(part in word for word in words)}
    return found.pop() if len(found) == 1 else None


def _other(words: list[str], first: str, second: str, known: Mapping[str, str]) -> str | None:
    """Return the column that has the second word where this one has the first."""
    if not _LATIN.fullmatch(first):  # without spaces between words
        name = "_".join(words)
        return known.get(name.replace(first, second)) if first in name else None
    if first not in words or (first in ALONE and len(words) < 2):
        return None
    place = words.index(first)
    return known.get("_".join([*words[:place], second, *words[place + 1 :]]))


def is_amount_name(name: str) -> bool:
    """Return whether a column is called like a measure or a property of an edge, which is no end of it.

    >>> [is_amount_name(name) for name in ("Amount", "raised_amount", "currency", "account", "Betrag")]
    [True, True, True, False, True]
    """
    words = words_of(name)
    return words[-1] in AMOUNTS or words[0] in {"amount", "betrag"}


def is_money_name(name: str) -> bool:
    """Return whether a column is called like an amount of something that moves from one end to the other.

    >>> [is_money_name(name) for name in ("Amount", "amount_eur", "Betrag", "EUR", "rating", "amount_type")]
    [True, True, True, True, False, False]
    >>> [is_money_name(name) for name in ("Valor Total (R$)", "Paid [EUR]", "TxnFee(ETH)", "Gross amount EUR", "EUR")]
    [True, True, False, True, True]
    >>> [is_money_name(name) for name in ("Rechnungsbetrag", "Bruttobetrag EUR", "Messwert", "EUR/USD", "EUR rate")]
    [True, True, False, False, False]
    >>> [is_money_name(name) for name in ("Value Date", "Total Items", "Total Order", "Amount paid", "Value class")]
    [False, False, True, True, False]
    """
    plain, *inside = re.split(r"[(\[]", name)
    if any(word in name.lower() for word in MONEY if not word.isascii() and not _LATIN.fullmatch(word)):  # no spaces
        return True
    if plain.strip().upper() in ISO_CURRENCIES:
        return True
    words = _said_first([word for word in words_of(plain) if word.upper() not in ISO_CURRENCIES])
    if not words or (any(map(currency_in, inside)) and AMOUNTS.isdisjoint(words)):
        return bool(words)
    if words[-1] in MONEY or words[-1].endswith(("betrag", "preis", "bedrag")):  # German writes words together
        return True
    return words[0] in MONEY and (AMOUNTS | COUNTED).isdisjoint(words[1:])


def how_secondary(name: str) -> int:
    """Return 2 for amounts of a fee or the like, 1 for those without one that was paid as well, and 0 for others.

    >>> [how_secondary(name) for name in ("VAT amount", "Amount excl. VAT", "Amount (after fees)", "Betrag netto")]
    [2, 1, 0, 1]
    """
    words = words_of(name)
    return 2 if SECONDARY.search("_".join(_said_first(words))) else int(any(map(_NET.fullmatch, words)))


def _said_first(words: list[str]) -> list[str]:
    """Return the words before those in which or with what something is, as in amount incl. tax."""
    return words[: next((place for place, word in enumerate(words[1:-1], 1) if _BEHIND.fullmatch(word)), None)]


def date_parts(names: Sequence[str]) -> list[str]:
    """Return the columns of years, months, days and hours, where a table has several.

    >>> date_parts(["a", "Year", "month", "DAY"]), date_parts(["a", "b", "day"])
    (['Year', 'month', 'DAY'], [])
    """
    parts = (("year", "jahr"), ("month", "monat"), ("day", "tag"), ("hour", "stunde"), ("minute",))
    found = [name for each in parts if (name := first_known(names, each)) is not None]
    return found if len(found) > 1 else []


def ways(values: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the values that say that money reached an account, and those that say it left; words of all do not count.

    >>> ways(["Transfer in", "Transfer out", "DR."]), ways(["Bonifico in entrata", "Bonifico in uscita"])
    ((['Transfer in'], ['Transfer out', 'DR.']), (['Bonifico in entrata'], ['Bonifico in uscita']))
    """
    words = {value: {value.lower().strip(" ."), *re.split(r"[\W_]+", value.lower())} for value in values}
    shared = set.intersection(*words.values()) if len(words) > 1 else set()
    found = {value: (REACHED & each - shared, LEFT & each - shared) for value, each in words.items()}
    reached = [value for value, (came, went) in found.items() if came and not went]
    return reached, [value for value, (came, went) in found.items() if went and not came]


def is_year_name(name: str) -> bool:
    """Return whether a column is called like the number of a year.

    >>> [is_year_name(name) for name in ("Geburtsjahr", "birth_year", "Año", "yearly income")]
    [True, True, True, False]
    """
    last = words_of(name)[-1]
    return last.endswith(("year", "jahr", "jaar")) or last in YEARS


def is_name_name(name: str) -> bool:
    """Return whether a column is called like the names of nodes.

    >>> [is_name_name(name) for name in ("fullName", "Nome / Razão Social", "type name")]
    [True, True, False]
    >>> [is_name_name(name) for name in ("Party Name", "vendor_name", "Account name", "Product name", "Kundenname")]
    [True, True, True, False, True]
    """
    parts = [part.strip("_") for part in normalized_name(name).split("/")]
    return any(part in NAME_NAMES or (part.endswith("_name") and part[:-5] in PARTIES) for part in parts)


def is_currency_name(name: str) -> bool:
    """Return whether one of the words of a column's name means currency."""
    return not CURRENCY_WORDS.isdisjoint(words_of(name))


def currency_in(name: str) -> str | None:
    """Return the currency that is a part of a name.

    >>> [currency_in(name) for name in ("Betrag (EUR)", "amount_usd", "Amount ($)", "amount")]
    ['EUR', 'USD', 'USD', None]
    """
    words = [word.upper() for word in re.split(r"[\s()\[\]/,:_-]+", name)]
    return next((CURRENCIES.get(word, word) for word in words if word in ISO_CURRENCIES or word in CURRENCIES), None)
